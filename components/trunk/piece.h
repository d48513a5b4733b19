// SPDX-License-Identifier: BSD-3-Clause
/// A piece: the part of a chunk that one lane carries, and what travels in front of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nezha {

/// A random 64-bit number, agreed when a team is made; never 0 and never reused.
using TeamId = std::uint64_t;
/// Counts the operations of a team from 1. 64 bits: it never wraps.
using OpNumber = std::uint64_t;
/// Operations of a team that may be under way at once: one begins when the one so many before it has ended.
constexpr OpNumber kMostUnderWay = 64;
constexpr OpNumber kLastOperation = ~OpNumber{0};

/// What a piece of so many bytes takes of the window for early pieces, on both sides: each costs its keeper some memory and time
/// beside its bytes.
constexpr std::size_t kLeastCharge = 512;
constexpr std::size_t window_charge(std::size_t length) { return length < kLeastCharge ? kLeastCharge : length; }

/// Reliable records without payload. They travel as pieces (with an id, acknowledged, replayed) outside the window.
enum class Control : std::uint16_t {
  want = 1,     ///< the sender has no window left for this operation: tell me when it has begun at your side
  begun,        ///< it has
  lane_closed,  ///< the sender has closed the lane whose connection has the number `team`; it may not say so itself
  alive,        ///< nothing but its acknowledgement is wanted, as a sign of life
  failed,       ///< an operation of the team cannot be completed; see failure.h for the other fields
  withdrawn,    ///< in place of a piece whose operation was given up: there is nothing to do
  rail_at,      ///< part of what a rail's address is from now on; see rail_notice.h for the other fields
};

struct PieceHeader {
  std::uint64_t id = 0;  ///< counts the pieces of a trunk and direction from 1; a replay keeps it
  TeamId team = 0;
  OpNumber op = 0;
  std::uint8_t behind =
      0;  ///< the sender has ended the team's operations up to op - behind; 0: this says nothing of them
  std::uint16_t step = 0;  ///< the algorithm's, or a Control
  bool control = false;
  std::uint32_t length = 0;  ///< bytes
  std::uint64_t offset = 0;  ///< bytes from the start of the vector
  std::uint32_t whole = 0;   ///< bytes of the sender's whole vector, the low 32 bits
  std::uint32_t crc = 0;     ///< CRC32C of the payload; only where checked
  bool checked = false;      ///< the sender computed crc

  OpNumber ended() const { return behind == 0 ? 0 : op - behind; }
  /// `up_to`: what the sender has ended, at least op - kMostUnderWay.
  void set_ended(OpNumber up_to) { behind = static_cast<std::uint8_t>(op - up_to); }
};

}  // namespace nezha
