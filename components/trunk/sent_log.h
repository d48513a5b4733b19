// SPDX-License-Identifier: BSD-3-Clause
/// The pieces of a trunk that were handed to a lane and are not acknowledged yet, by id. Source of replays.
#pragma once

#include <cstdint>
#include <vector>

#include "trunk/flow.h"
#include "trunk/piece.h"

namespace nezha {

constexpr std::uint8_t kNoLane = 0xff;

struct SentPiece {
  PieceHeader header;
  const std::byte* data = nullptr;
  std::size_t charge = 0;       ///< bytes of the peer's window that its acknowledgement sets free
  Flow* flow = nullptr;         ///< set while `data` lies in the memory of that flow's operation
  std::byte* kept = nullptr;    ///< set while `data` lies in the trunk's own memory
  std::uint8_t lane = kNoLane;  ///< which lane has it; kNoLane: to be sent (again)
  std::uint32_t frame = 0;      ///< in which of the lane's frames
  bool sent = false;            ///< a lane has had it
  bool acked = false;
};

class SentLog {
 public:
  SentLog() : slots_(64) {}

  std::uint64_t oldest() const { return oldest_; }
  std::uint64_t next() const { return next_; }
  bool empty() const { return oldest_ == next_; }
  /// False when the peer's duplicate check could not tell a further id from an old one.
  bool room() const { return next_ - oldest_ < kCapacity; }
  /// The same for an answer, which the peer may ask for while there is no room for anything else. False: it asks on without
  /// acknowledging the answers that it has.
  bool room_for_answer() const { return next_ - oldest_ < kCapacity + kAnswers; }

  /// A fresh piece with the next id. The reference is good until the next add.
  SentPiece& add();
  /// `id` in [oldest, next).
  SentPiece& at(std::uint64_t id) { return slots_[id & (slots_.size() - 1)]; }
  const SentPiece& at(std::uint64_t id) const { return slots_[id & (slots_.size() - 1)]; }
  /// Drops the oldest; it must be acked.
  void pop() { ++oldest_; }

 private:
  static constexpr std::uint64_t kCapacity = 2048;  ///< half of the receiver's kIdWindow
  static constexpr std::uint64_t kAnswers = 1024;

  std::vector<SentPiece> slots_;  ///< ring, a power of two
  std::uint64_t oldest_ = 1;
  std::uint64_t next_ = 1;
};

}  // namespace nezha
