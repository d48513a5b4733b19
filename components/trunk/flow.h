// SPDX-License-Identifier: BSD-3-Clause
/// What one operation sends to one peer: chunks that are ready, in the order in which they should leave.
///
/// A flow belongs to its team and lives as long; it is opened for each operation and closed at its end. The trunk
/// refers to it in between. Not thread safe; allocates only while a team's operations still grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trunk/piece.h"
#include "util/rail_set.h"

namespace nezha {

/// A chunk whose value is final for this step: bytes [offset, offset + size) of the vector, at `data`. They stay as
/// they are until acknowledged, superseded or the flow is closed; with `copied` only until they have left the flow's
/// queue, because the trunk then takes a copy.
struct ReadyChunk {
  const std::byte* data = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::uint16_t step = 0;
  std::uint16_t hops = 0;  ///< how many more times this chunk must travel: those with most go first
  bool copied = false;
};

class Flow {
 public:
  /// Starts an operation whose elements have `element` bytes (pieces are cut at elements). `one_rail`: it keeps to the
  /// best rail, or to `rails` of this process as long as any of them has a lane, unless shares are fixed. `whole`: see
  /// PieceHeader.
  void open(TeamId team, OpNumber op, std::size_t element, bool one_rail = false, RailSet rails = 0,
            std::uint32_t whole = 0);

  void push(const ReadyChunk& chunk);
  bool empty() const { return heap_.empty(); }
  const ReadyChunk& top() const { return heap_.front(); }
  /// Takes `bytes` off the front of the top chunk.
  void advance(std::uint32_t bytes);
  void clear() {
    heap_.clear();
    queued_ = 0;
  }

  TeamId team() const { return team_; }
  OpNumber op() const { return op_; }
  std::size_t element() const { return element_; }
  bool one_rail() const { return one_rail_; }
  RailSet rails() const { return rails_; }
  std::uint32_t whole() const { return whole_; }
  std::size_t queued() const { return queued_; }

  /// Up to which operation the team has ended here, to be said with each piece.
  OpNumber ended() const { return team_ended != nullptr ? *team_ended : op_ - std::min<OpNumber>(op_, 1); }
  const OpNumber* team_ended = nullptr;  ///< outlives the flow; null: always all before this one

  // The trunk's book-keeping for this flow.
  bool begun = false;       ///< the peer is known to have begun this operation: no window any more
  bool asked = false;       ///< a want has been sent
  bool listed = false;      ///< the trunk has it in its list of flows with chunks
  std::size_t charged = 0;  ///< bytes sent before `begun`, held against the peer's window
  std::size_t unacked = 0;  ///< bytes sent from the operation's memory and not yet acknowledged

 private:
  TeamId team_ = 0;
  OpNumber op_ = 0;
  std::size_t element_ = 1;
  bool one_rail_ = false;
  RailSet rails_ = 0;
  std::uint32_t whole_ = 0;
  std::size_t queued_ = 0;
  std::vector<ReadyChunk> heap_;  ///< most hops first, then lowest offset
};

}  // namespace nezha
