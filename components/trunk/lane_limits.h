// SPDX-License-Identifier: BSD-3-Clause
/// What every strategy respects: how fast a lane is, how much it may hold, how long a piece of it may be.
#pragma once

#include <cstddef>
#include <span>

#include "trunk/lane_state.h"

namespace nezha {

/// Not worth splitting among lanes of 500 Mbit/s or more: a frame costs as much as these bytes.
constexpr std::size_t kSmall = 8 * 1024;
/// Held by a rail, it makes so little difference that nobody asks whether it has left.
constexpr std::size_t kSlight = 2 * 1024;

/// Bytes per nanosecond, as measured, or as another lane of its rail was; 0 = not yet.
inline double measured(const LaneState& lane) { return lane.rate.known() > 0 ? lane.rate.known() : lane.rail->shown; }

/// The same; where nothing was measured, what the link says of itself, or a guess.
inline double pace(const LaneState& lane) {
  constexpr double kUnknownRate = 0.125;  // 1 Gbit/s
  if (const double rate = measured(lane); rate > 0) return rate;
  return lane.rail->nominal > 0 ? lane.rail->nominal : kUnknownRate;
}

/// The shortest round trip of the usable lanes; 0 while one of theirs is unknown.
Nanoseconds least_round_trip(std::span<LaneState> lanes, RailSet rails);

/// By how many nanoseconds bytes come later on the lane than on one with the shortest round trip that leave when they do, beyond what
/// round trips of equal networks differ by.
double lag(const LaneState& lane, Nanoseconds least_round_trip);

/// How much a lane may hold, within bounds. Kernel buffers hide a lane's state, so its queue is kept short: 12 ms, in which
/// acknowledgements that wait in the peer's queue come back, and a process whose processor does other things does too (at
/// 4 ms six ranks on two processors left slow rails idle for a part of the time). The lane is up.
std::size_t fill_limit(LaneState& lane);

/// Has the fill of the lane's rail asked for again, where it matters and is not fresh: without that a lane of which the last thing
/// known is that it holds a little would be passed over for ever. Asking takes a system call for each loaded lane of the rail.
void look_at_fill(const LaneState& lane, Nanoseconds now);

/// Nanoseconds until all that is queued on the lane and its rail has left.
Nanoseconds queue_time(const LaneState& lane);

/// What is not worth splitting on this lane: kSmall, less where that would keep a slow one busy for long.
std::size_t least_piece(const LaneState& lane);

/// A piece takes its lane about 1 ms at most, so that the last one on a slow lane holds up little; but 32 KiB are allowed
/// anywhere, since frames of less make processors the limit where rails are many and slow.
std::size_t longest_piece(const LaneState& lane);

}  // namespace nezha
