// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/home_lane.h"

#include <algorithm>

#include "trunk/lane_limits.h"

namespace nezha {

LaneState* home_lane(std::span<LaneState> lanes, RailSet rails) {
  constexpr double kNotSlower = 0.7;
  double fastest = 0;
  for (const LaneState& lane : lanes)
    if (lane.usable(rails)) fastest = std::max(fastest, pace(lane));
  const auto fits = [&](const LaneState& lane) { return lane.usable(rails) && pace(lane) >= kNotSlower * fastest; };
  const auto found = std::find_if(lanes.begin(), lanes.end(), fits);
  return found == lanes.end() ? nullptr : &*found;
}

}  // namespace nezha
