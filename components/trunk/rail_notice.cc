// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_notice.h"

#include <algorithm>

#include "util/bytes.h"

namespace nezha {
namespace {

Status bad(const char* what) { return {Code::bad_wire, std::string("bad frame: a rail's new address with ") + what}; }

std::size_t parts_in(std::size_t size) { return (size + kNoticePart - 1) / kNoticePart; }

/// From the bytes of all parts.
Status read_notice(std::uint8_t rail, std::span<const std::byte> bytes, RailNotice& notice) {
  ByteReader in(bytes);
  notice = {rail, read_rail(in)};
  if (!in.good() || !in.at_end()) return bad("a wrong length");
  return notice.address.transport.empty() ? bad("no transport") : Status{};
}

}  // namespace

void encode_notice(const RailNotice& notice, std::uint32_t number, const std::function<PieceHeader&()>& next_record) {
  ByteWriter out;
  write_rail(out, notice.address);
  std::vector<std::byte> bytes = out.take();
  const std::size_t size = bytes.size();
  bytes.resize(parts_in(size) * kNoticePart);
  for (std::size_t part = 0; part < parts_in(size); ++part) {
    PieceHeader& record = next_record();
    record.team = load_le<std::uint64_t>(bytes.data() + part * kNoticePart);
    record.offset = load_le<std::uint64_t>(bytes.data() + part * kNoticePart + 8);
    record.op = notice.rail | std::uint64_t{part} << 8 | std::uint64_t{size} << 16 | std::uint64_t{number} << 32;
  }
}

NoticeReader::Parts& NoticeReader::parts_of(std::uint8_t rail) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Parts& each) { return each.rail == rail; });
  if (found != known_.end()) return *found;
  Parts& fresh = known_.emplace_back();
  fresh.rail = rail;
  return fresh;
}

Status NoticeReader::take(const PieceHeader& record, std::optional<RailNotice>& notice) {
  const auto rail = static_cast<std::uint8_t>(record.op);
  const auto part = static_cast<std::uint8_t>(record.op >> 8);
  const auto size = static_cast<std::uint16_t>(record.op >> 16);
  const auto number = static_cast<std::uint32_t>(record.op >> 32);
  notice.reset();
  if (rail >= kMaxRails) return bad("too high a number");
  if (size > kMaxRailAddress || part >= parts_in(size)) return bad("too many parts");
  Parts& parts = parts_of(rail);
  if (number < parts.number) return {};
  if (number > parts.number || parts.got == 0) {
    parts.number = number;
    parts.size = size;
    parts.got = 0;
  }
  if (size != parts.size) return bad("parts that differ");
  std::byte* const to = parts.bytes.data() + part * kNoticePart;
  store_le(to, record.team);
  store_le(to + 8, record.offset);
  parts.got |= std::uint64_t{1} << part;
  if (parts.got != (std::uint64_t{1} << parts_in(size)) - 1) return {};
  return read_notice(rail, std::span(parts.bytes).first(size), notice.emplace());
}

}  // namespace nezha
