// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>

#include "trunk/lane_limits.h"
#include "trunk/strategy.h"

namespace nezha {
namespace {

constexpr Nanoseconds kFresh = 50 * kMicrosecond;    ///< a fill older than this is asked for again
constexpr Nanoseconds kWorthWaiting = kMillisecond;  ///< for a lane that is in the middle of a frame

/// Nanoseconds until everything now queued on the lane and its rail, and `more` bytes, have left.
double finish(const LaneState& lane, double more) {
  const double alone = (static_cast<double>(lane.fill) + more) / pace(lane);
  return std::max(alone, (static_cast<double>(lane.rail->fill) + more) / std::max(lane.rail->rate(), pace(lane)));
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
      if (!lane.usable()) continue;
      if (lane.rail->fill > kSmall) lane.rail->refresh(now, kFresh);
      total_rate += pace(lane);
      total_fill += static_cast<double>(lane.fill);
      const double end = finish(lane, unit);
      if (lane.lane->busy()) {
        busy_finish = std::min(busy_finish, end);
      } else if (end < best_finish && lane.fill < fill_limit(lane)) {
        best = &lane;
        best_finish = end;
      }
    }
    if (best == nullptr || best_finish > busy_finish + static_cast<double>(kWorthWaiting)) return {};
    if (queued <= kSmall) return {best, queued};
    return {best, portion(*best, queued, total_rate, total_fill)};
  }

 private:
  /// As much of what is queued as lets the lane end with the others, in frames worth their cost.
  static std::size_t portion(const LaneState& lane, std::size_t queued, double total_rate, double total_fill) {
    const double level = (static_cast<double>(queued) + total_fill) / total_rate;
    const double even = std::max(level * pace(lane) - static_cast<double>(lane.fill), 0.0);
    const std::size_t bytes = std::clamp(static_cast<std::size_t>(even), kSmall, longest_piece(lane));
    return queued < bytes + kSmall ? queued : bytes;
  }
};

}  // namespace

const Strategy& earliest_finish() {
  static const EarliestFinish strategy;
  return strategy;
}

}  // namespace nezha
