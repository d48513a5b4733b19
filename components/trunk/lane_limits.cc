// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/lane_limits.h"

#include <algorithm>
#include <limits>

namespace nezha {
namespace {

/// A fill no older than this is not asked for again. However slow the lane is: a queue that empties between two looks of one
/// that has become fast would hide it.
constexpr Nanoseconds kFresh = 50 * kMicrosecond;
constexpr Nanoseconds kLook = 500;  ///< for which asking one lane takes
constexpr Nanoseconds kLooking = 8;  ///< no more than this part of the time goes into asking
constexpr Nanoseconds kQueue = 12 * kMillisecond;  ///< for which a process may get no processor
/// The least round trips of TCP over equal networks differ by as much, seen from both ends; between TCP and RDMA, by more.
constexpr Nanoseconds kAlike = 10 * kMicrosecond;
constexpr Nanoseconds kPiece = kMillisecond;
/// kSmall at 500 Mbit/s. With half of it lanes of that rate got pieces of 4 KiB, whose frames cost more than they gained.
constexpr Nanoseconds kLeastTime = 130 * kMicrosecond;
constexpr std::size_t kLeastOfAny = 1024;
constexpr std::size_t kFloor = 32 * 1024;      ///< a lane may always hold this much
constexpr std::size_t kCeiling = 1024 * 1024;  ///< and never more: beyond, bytes only grow cold

std::size_t bytes_in(const LaneState& lane, Nanoseconds span) {
  return static_cast<std::size_t>(pace(lane) * static_cast<double>(span));
}

}  // namespace

Nanoseconds least_round_trip(std::span<LaneState> lanes, RailSet rails) {
  Nanoseconds least = std::numeric_limits<Nanoseconds>::max();
  for (const LaneState& state : lanes)
    if (state.usable(rails)) least = std::min(least, state.lane->min_rtt());
  return least;
}

double lag(const LaneState& lane, Nanoseconds least_round_trip) {
  if (least_round_trip == 0) return 0;
  return static_cast<double>(std::max<Nanoseconds>((lane.lane->min_rtt() - least_round_trip) / 2 - kAlike, 0));
}

std::size_t fill_limit(LaneState& lane) {
  return std::clamp(bytes_in(lane, lane.lane->min_rtt() + kQueue), kFloor, kCeiling);
}

void look_at_fill(const LaneState& lane, Nanoseconds now) {
  const auto cost = static_cast<Nanoseconds>(lane.rail->loaded.size()) * kLook;
  if (lane.rail->fill > kSlight) lane.rail->refresh(now, std::max(kFresh, kLooking * cost));
}

Nanoseconds queue_time(const LaneState& lane) {
  const double alone = static_cast<double>(lane.fill) / pace(lane);
  const double together = static_cast<double>(lane.rail->fill) / std::max(lane.rail->rate(), pace(lane));
  return static_cast<Nanoseconds>(std::max(alone, together));
}

std::size_t least_piece(const LaneState& lane) { return std::clamp(bytes_in(lane, kLeastTime), kLeastOfAny, kSmall); }

std::size_t longest_piece(const LaneState& lane) { return std::max(bytes_in(lane, kPiece), 4 * kSmall); }

}  // namespace nezha
