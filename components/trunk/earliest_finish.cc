// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>

#include "trunk/strategy.h"

namespace nezha {
namespace {

constexpr double kUnknownRate = 0.125;             ///< 1 Gbit/s, bytes per nanosecond
/// How much of its time a lane may hold beyond its round trip: 2 ms of its own queue, and as much again since
/// acknowledgements wait in the peer's queue behind what it sends.
constexpr Nanoseconds kQueue = 4 * kMillisecond;
constexpr Nanoseconds kPiece = kMillisecond;       ///< longest time that one piece may take on its lane
constexpr Nanoseconds kFresh = 50 * kMicrosecond;  ///< a fill older than this is asked for again
constexpr std::size_t kFloor = 128 * 1024;         ///< a lane may always hold this much
constexpr std::size_t kCeiling = 384 * 1024;  ///< and never more: beyond, bytes only grow cold
constexpr std::size_t kSmall = 8 * 1024;           ///< not worth splitting: a frame costs as much as these bytes

double measured(const LaneState& lane) {
  if (lane.rate > 0) return lane.rate;
  return lane.rail->nominal > 0 ? lane.rail->nominal : kUnknownRate;
}

/// Bytes per nanosecond by which lanes are compared.
double pace(const LaneState& lane) {
  return lane.rail->weight > 0 ? lane.rail->weight * kUnknownRate : measured(lane);
}

/// Nanoseconds until everything now queued on the lane and `more` bytes have left.
double finish(const LaneState& lane, double more) {
  const double alone = (static_cast<double>(lane.fill) + more) / pace(lane);
  const double rail_rate =
      lane.rail->weight > 0 ? pace(lane) : std::max(lane.rail->rate(), measured(lane));
  return std::max(alone, (static_cast<double>(lane.rail->fill) + more) / rail_rate);
}

std::size_t limit(LaneState& lane) {
  const Nanoseconds hold = lane.lane->min_rtt() + kQueue;
  return std::clamp(static_cast<std::size_t>(measured(lane) * static_cast<double>(hold)), kFloor, kCeiling);
}

class EarliestFinish final : public Strategy {
 public:
  LaneChoice choose(std::span<LaneState> lanes, std::size_t queued, Nanoseconds now) const override {
    LaneState* best = nullptr;
    double best_finish = std::numeric_limits<double>::infinity();
    double busy_finish = best_finish;
    double total_rate = 0;
    double total_fill = 0;
    const double unit = static_cast<double>(std::min(queued, kSmall));
    for (LaneState& lane : lanes) {
      if (lane.lane == nullptr) continue;
      if (lane.rail->fill > kSmall) lane.rail->refresh(now, kFresh);
      total_rate += pace(lane);
      total_fill += static_cast<double>(lane.fill);
      const double end = finish(lane, unit);
      if (lane.lane->busy()) {
        busy_finish = std::min(busy_finish, end);
      } else if (end < best_finish && lane.fill < limit(lane)) {
        best = &lane;
        best_finish = end;
      }
    }
    // A lane in the middle of a frame that would still be done long before this one is worth waiting for.
    if (best == nullptr || best_finish > busy_finish + static_cast<double>(kPiece)) return {};
    if (queued <= kSmall) return {best, queued};
    return {best, portion(*best, queued, total_rate, total_fill)};
  }

 private:
  /// As much of what is queued as lets the lane end with the others, in frames worth their cost.
  static std::size_t portion(const LaneState& lane, std::size_t queued, double total_rate, double total_fill) {
    const double level = (static_cast<double>(queued) + total_fill) / total_rate;
    const double even = level * pace(lane) - static_cast<double>(lane.fill);
    const double longest = static_cast<double>(kPiece) * measured(lane);
    const auto bytes = static_cast<std::size_t>(std::max(std::min(even, longest), static_cast<double>(kSmall)));
    return queued < bytes + kSmall ? queued : bytes;
  }
};

}  // namespace

const Strategy& earliest_finish() {
  static const EarliestFinish strategy;
  return strategy;
}

}  // namespace nezha
