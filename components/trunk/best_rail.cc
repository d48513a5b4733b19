// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "trunk/preferred_lane.h"
#include "trunk/lane_limits.h"
#include "trunk/strategy.h"

namespace nezha {
namespace {

class BestRail final : public Strategy {
 public:
  LaneChoice choose(std::span<LaneState> lanes, RailSet rails, const Waiting& waiting, Nanoseconds now) const override {
    const std::size_t queued = waiting.bytes;
    LaneState* home = preferred_lane(lanes, rails, queued);
    if (home == nullptr) return {};
    look_at_fill(*home, now);
    if (home->lane->busy() || home->fill >= fill_limit(*home)) return {};
    return {home, std::min(queued, longest_piece(*home))};
  }
};

}  // namespace

const Strategy& best_rail() {
  static const BestRail strategy;
  return strategy;
}

}  // namespace nezha
