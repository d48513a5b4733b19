// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "trunk/lane_limits.h"
#include "trunk/strategy.h"

namespace nezha {
namespace {

/// How far a lane is in its share once it has got `more` bytes.
double progress(const LaneState& lane, std::size_t more) {
  return static_cast<double>(lane.given + more) / lane.rail->weight;
}

class Weighted final : public Strategy {
 public:
  LaneChoice choose(std::span<LaneState> lanes, RailSet rails, const Waiting& waiting, Nanoseconds now) const override {
    const std::size_t queued = waiting.bytes;
    LaneState* best = nullptr;
    for (LaneState& lane : lanes) {
      if (!lane.usable(rails) || lane.rail->weight <= 0) continue;
      if (best == nullptr || before(lane, *best, queued)) best = &lane;
    }
    if (best == nullptr) return earliest_finish().choose(lanes, rails, waiting, now);
    look_at_fill(*best, now);
    if (best->lane->busy() || best->fill >= fill_limit(*best)) return {};
    return {best, std::min(queued, longest_piece(*best))};
  }

 private:
  /// Small messages take the heaviest lane; what it got too much of is made up for by large ones.
  static bool before(const LaneState& a, const LaneState& b, std::size_t queued) {
    if (queued <= kSmall) return a.rail->weight > b.rail->weight;
    return progress(a, kSmall) < progress(b, kSmall);
  }
};

}  // namespace

const Strategy& weighted() {
  static const Weighted strategy;
  return strategy;
}

}  // namespace nezha
