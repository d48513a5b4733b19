// SPDX-License-Identifier: BSD-3-Clause
/// The records in a frame's header, and their encoding: little endian, fixed sizes per kind, no padding left unset.
///
///   piece  44 bytes  kind 1, behind u8, step u16, length u32, id u64, team u64, op u64, offset u64, whole u32. Its
///   payload
///                    follows the header of the frame, in the order of the records;
///       or 48 bytes  kind 3: and crc u32 of the payload;
///       or 44 bytes  kind 4: a control record, without payload.
///   ack    32 bytes  kind 2, 7 bytes zero, below u64 (every id below it arrived), bits 2 x u64 (id below+i arrived).
///
/// Bytes from the wire are untrusted: parse_records checks kinds, sizes and the sum of lengths; what a team, an
/// operation or an offset means is for its receiver to check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rail/rail.h"
#include "trunk/piece.h"
#include "util/status.h"

namespace nezha {

constexpr std::size_t kPieceRecord = 44;         ///< without crc
constexpr std::size_t kCheckedPieceRecord = 48;  ///< with crc
constexpr std::size_t kAckRecord = 32;
/// Goes into the lane's greeting and the team's agreement; both sides must have the same.
constexpr std::uint32_t kWireVersion = 16;

struct AckRecord {
  std::uint64_t below = 0;
  std::array<std::uint64_t, 2> bits{};
};

/// What a frame's header says. At most one ack counts (the last).
struct FrameRecords {
  std::array<PieceHeader, kMaxFrameSegments> pieces;
  std::size_t count = 0;
  bool has_ack = false;
  AckRecord ack;
};

/// Write a record at `to` and return its size. The caller has room.
std::size_t encode_piece(std::byte* to, const PieceHeader& piece);
std::size_t encode_ack(std::byte* to, const AckRecord& ack);

/// Reads all records of a header whose frame carries `payload` bytes.
Status parse_records(std::span<const std::byte> header, std::size_t payload, FrameRecords& out);

}  // namespace nezha
