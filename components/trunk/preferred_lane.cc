// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/preferred_lane.h"

#include <algorithm>

#include "trunk/lane_limits.h"

namespace nezha {

LaneState* preferred_lane(std::span<LaneState> lanes, RailSet rails) {
  constexpr double kNotSlower = 0.7;
  LaneState* first = nullptr;
  double fastest = 0, pace_of_first = 0;
  for (LaneState& lane : lanes) {
    if (!lane.usable(rails)) continue;
    const double its_pace = pace(lane);
    if (first == nullptr) first = &lane, pace_of_first = its_pace;
    fastest = std::max(fastest, its_pace);
  }
  if (pace_of_first >= kNotSlower * fastest) return first;
  const auto fits = [&](const LaneState& lane) { return lane.usable(rails) && pace(lane) >= kNotSlower * fastest; };
  return &*std::find_if(lanes.begin(), lanes.end(), fits);
}

}  // namespace nezha
