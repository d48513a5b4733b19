// SPDX-License-Identifier: BSD-3-Clause
#include "rail/frame.h"

#include <cassert>

#include "util/bytes.h"
#include "util/crc32c.h"

namespace nezha {
namespace {

/// "NZF" and the version, as the wire has them.
constexpr std::uint32_t kMagic = 'N' | 'Z' << 8 | 'F' << 16;
constexpr std::uint32_t kMagicMask = 0xffffff;
constexpr std::size_t kCheckedEnvelope = 12;

std::uint32_t checksum_of(const std::byte* envelope, std::span<const std::byte> header) {
  return crc32c(crc32c(0, envelope, kCheckedEnvelope), header.data(), header.size());
}

Status bad(const std::string& what) { return {Code::bad_wire, "bad frame: " + what}; }

}  // namespace

std::optional<std::size_t> payload_size(std::span<const std::byte> header, std::span<const Gather> payload) {
  if (header.size() > kMaxFrameHeader || payload.size() > kMaxFrameSegments) return {};
  std::size_t size = 0;
  for (const Gather& part : payload) {
    if (part.size > kMaxFramePayload - size) return {};
    size += part.size;
  }
  return size;
}

void write_envelope(std::byte* to, std::span<const std::byte> header, std::size_t payload_size) {
  assert(header.size() <= kMaxFrameHeader && payload_size <= kMaxFramePayload);
  store_le<std::uint32_t>(to, kMagic | std::uint32_t{kFrameVersion} << 24);
  store_le<std::uint16_t>(to + 4, static_cast<std::uint16_t>(header.size()));
  store_le<std::uint16_t>(to + 6, 0);
  store_le<std::uint32_t>(to + 8, static_cast<std::uint32_t>(payload_size));
  store_le<std::uint32_t>(to + kCheckedEnvelope, checksum_of(to, header));
}

Status read_envelope(const std::byte* from, Envelope& envelope) {
  const auto magic = load_le<std::uint32_t>(from);
  if ((magic & kMagicMask) != kMagic) return bad("it does not begin with the magic number");
  if (magic >> 24 != kFrameVersion) {
    return bad("version " + std::to_string(magic >> 24) + ", this side speaks " + std::to_string(kFrameVersion));
  }
  envelope.header_size = load_le<std::uint16_t>(from + 4);
  envelope.flags = load_le<std::uint16_t>(from + 6);
  envelope.payload_size = load_le<std::uint32_t>(from + 8);
  envelope.checksum = load_le<std::uint32_t>(from + kCheckedEnvelope);
  if (envelope.flags != 0) return bad("unknown flags");
  if (envelope.header_size > kMaxFrameHeader) {
    return bad("a header of " + std::to_string(envelope.header_size) + " bytes, at most " +
               std::to_string(kMaxFrameHeader) + " are allowed");
  }
  if (envelope.payload_size > kMaxFramePayload) {
    return bad("a payload of " + std::to_string(envelope.payload_size) + " bytes, at most " +
               std::to_string(kMaxFramePayload) + " are allowed");
  }
  return {};
}

Status check_header(const std::byte* from, const Envelope& envelope, std::span<const std::byte> header) {
  if (checksum_of(from, header) != envelope.checksum) return bad("the checksum of its header is wrong");
  return {};
}

}  // namespace nezha
