// SPDX-License-Identifier: BSD-3-Clause
/// The envelope in front of each frame on every stream transport. 16 bytes, little endian:
///   0  magic "NZF", version (1 byte)
///   4  bytes of the header that follows (u16, at most kMaxFrameHeader)
///   6  flags (u16, none defined: 0)
///   8  bytes of payload behind the header (u32, at most kMaxFramePayload)
///  12  CRC32C of the first 12 bytes and the header (u32)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rail/rail.h"
#include "util/status.h"

namespace nezha {

constexpr std::size_t kEnvelopeSize = 16;
constexpr std::uint8_t kFrameVersion = 1;

struct Envelope {
  std::uint16_t header_size = 0;
  std::uint16_t flags = 0;
  std::uint32_t payload_size = 0;
  std::uint32_t checksum = 0;
};

/// The bytes of a payload that Lane::send was given; none if the frame is beyond the limits (rail.h). The lane then goes down,
/// with kBeyondLimits as the reason.
std::optional<std::size_t> payload_size(std::span<const std::byte> header, std::span<const Gather> payload);
inline constexpr char kBeyondLimits[] = "a frame beyond the limits was to be sent";

/// Writes the kEnvelopeSize bytes that announce `header` and `payload_size` bytes of payload; both within the limits.
void write_envelope(std::byte* to, std::span<const std::byte> header, std::size_t payload_size);

/// Reads an envelope from untrusted bytes. Everything but the checksum is verified.
Status read_envelope(const std::byte* from, Envelope& envelope);

/// Verifies the checksum once the header is there too; `from` points to the kEnvelopeSize bytes of the envelope.
Status check_header(const std::byte* from, const Envelope& envelope, std::span<const std::byte> header);

}  // namespace nezha
