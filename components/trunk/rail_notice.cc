// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_notice.h"

#include <algorithm>

#include "util/bytes.h"

namespace nezha {
namespace {

Status bad(const char* what) { return {Code::bad_wire, std::string("bad frame: a rail's new address with ") + what}; }

}  // namespace

RailNotice notice_of(std::uint8_t rail, const RailAddress& address) {
  return {rail, address.family, address.address, address.prefix, address.port};
}

void encode_notice(const RailNotice& notice, PieceHeader& record) {
  const auto* bytes = reinterpret_cast<const std::byte*>(notice.address.data());
  record.team = load_le<std::uint64_t>(bytes);
  record.offset = load_le<std::uint64_t>(bytes + 8);
  record.op = notice.rail | std::uint64_t{notice.family} << 8 | std::uint64_t{notice.prefix} << 16 | std::uint64_t{notice.port} << 24;
}

Status decode_notice(const PieceHeader& record, RailNotice& notice) {
  auto* bytes = reinterpret_cast<std::byte*>(notice.address.data());
  store_le(bytes, record.team);
  store_le(bytes + 8, record.offset);
  notice.rail = static_cast<std::uint8_t>(record.op);
  notice.family = static_cast<std::uint8_t>(record.op >> 8);
  notice.prefix = static_cast<std::uint8_t>(record.op >> 16);
  notice.port = static_cast<std::uint16_t>(record.op >> 24);
  if (record.op >> 40 != 0) return bad("bits that mean nothing");
  if (notice.rail >= kMaxRails) return bad("too high a number");
  if (notice.family != 4 && notice.family != 6) return bad("an unknown family");
  if (notice.prefix > (notice.family == 4 ? 32 : 128)) return bad("too long a prefix");
  const bool longer = std::any_of(notice.address.begin() + 4, notice.address.end(), [](auto byte) { return byte != 0; });
  if (notice.family == 4 && longer) return bad("too long an address");
  if (notice.port == 0) return bad("no port");
  return {};
}

}  // namespace nezha
