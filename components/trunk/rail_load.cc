// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_load.h"

#include <bit>

#include "trunk/lane_state.h"

namespace nezha {

void RailLoad::add_lane() { loaded.reserve(std::bit_ceil(++lanes_)); }

void RailLoad::refresh(Nanoseconds now, Nanoseconds age) {
  if (loaded.empty() || now - refreshed_ <= age) return;
  refreshed_ = now;
  std::size_t drained = 0;
  for (std::size_t i = loaded.size(); i-- != 0;) drained += loaded[i]->refresh(now);
  update(now, 0, drained);
}

void RailLoad::update(Nanoseconds now, std::size_t added, std::size_t drained) {
  if (fill != 0) busy += now - busy_since_;
  busy_since_ = now;
  fill += added;
  fill -= drained;
}

double RailLoad::rate() const {
  double sum = 0;
  for (const LaneState* lane : loaded) sum += lane->rate.known();
  return sum;
}

}  // namespace nezha
