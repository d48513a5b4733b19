// SPDX-License-Identifier: BSD-3-Clause
/// How loaded a rail of this process is, over all its lanes (lanes of one rail share a NIC), and what it has carried.
/// One per rail, shared by all trunks of an engine, guarded by the engine's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trunk/punctuality.h"
#include "util/clock.h"

namespace nezha {

struct LaneState;

struct RailLoad {
  std::size_t fill = 0;  ///< bytes handed over and not known to be delivered, all lanes
  std::vector<LaneState*> loaded;  ///< lanes that have such bytes; room for all, so that it never grows while in use
  double weight = 0;     ///< the user's share for this rail; 0 = measured
  double nominal = 0;    ///< bytes per nanosecond from the link's speed; 0 = unknown
  double shown = 0;      ///< what the last lane to another node that was measured brought; 0 = none was

  std::uint64_t bytes_sent = 0, bytes_received = 0;  ///< payload of pieces
  std::uint64_t frames_sent = 0, frames_received = 0;
  std::uint64_t retransmissions = 0;
  Nanoseconds busy = 0;  ///< time with fill > 0
  std::uint64_t suspicions = 0;     ///< lanes that did not answer while others of the peer did
  std::uint64_t failovers = 0;      ///< times that pieces of a lane were moved to others
  std::uint64_t reconnections = 0;  ///< lanes that came back
  std::uint32_t lanes_up = 0, lanes_failed = 0;
  std::uint32_t suspects = 0;  ///< lanes suspected now

  /// There is to be one more lane.
  void add_lane();
  /// Asks all loaded lanes how much has left, if the last answer is older than `age`.
  void refresh(Nanoseconds now, Nanoseconds age);
  /// A lane of it holds something. `slowed`: it may be faster than it is thought to be. A time that is past counts no more: a look
  /// then has told all, and what waits for a delayed answer would ask for one without end.
  void look_by(Nanoseconds now, const Punctuality& given, bool slowed);
  /// When a look would tell whether the rates of loaded lanes are wrong; 0: nothing is expected of any.
  Nanoseconds look_due() const { return loaded.empty() ? 0 : sooner(in_time_until_, late_from_); }
  /// `fill` changed by `added` handed over and `drained` delivered, as seen at `now`.
  void update(Nanoseconds now, std::size_t added, std::size_t drained);
  /// When that was last.
  Nanoseconds changed() const { return busy_since_; }
  /// Bytes per nanosecond that the loaded lanes deliver together; 0 = unknown, or none is loaded.
  double rate() const;

 private:
  std::size_t lanes_ = 0;
  Nanoseconds busy_since_ = 0;
  Nanoseconds refreshed_ = 0;
  Nanoseconds in_time_until_ = 0;  ///< the first of the lanes that may be faster
  Nanoseconds late_from_ = 0;      ///< the last of all lanes
};

}  // namespace nezha
