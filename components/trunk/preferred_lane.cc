// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/preferred_lane.h"

#include <algorithm>
#include <limits>

#include "trunk/lane_limits.h"

namespace nezha {

LaneState* preferred_lane(std::span<LaneState> lanes, RailSet rails, std::size_t bytes) {
  constexpr double kNotLonger = 1 / 0.7;
  const Nanoseconds least_trip = least_round_trip(lanes, rails);
  const auto time = [&](LaneState& lane) { return static_cast<double>(bytes) / pace(lane) + lag(lane, least_trip); };
  double least = std::numeric_limits<double>::infinity();
  for (LaneState& lane : lanes)
    if (lane.usable(rails)) least = std::min(least, time(lane));
  const auto fits = [&](LaneState& lane) { return lane.usable(rails) && time(lane) <= kNotLonger * least; };
  const auto found = std::find_if(lanes.begin(), lanes.end(), fits);
  return found == lanes.end() ? nullptr : &*found;
}

}  // namespace nezha
