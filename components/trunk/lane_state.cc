// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/lane_state.h"

#include <algorithm>

namespace nezha {

void LaneState::refresh(Nanoseconds now) {
  refreshed = now;
  if (fill == 0) return;
  const std::size_t left = std::min(lane->fill(), fill);
  const std::size_t drained = fill - left;
  fill = left;
  delivered += drained;
  meter.sample(now, delivered, fill);
  rail->update(now, 0, drained);
}

void LaneState::handed(Nanoseconds now, std::size_t bytes) {
  if (fill == 0) meter.sample(now, delivered, bytes);
  fill += bytes;
  rail->update(now, bytes, 0);
}

void LaneState::reset(Nanoseconds now) {
  rail->update(now, 0, fill);
  fill = 0;
  refreshed = now;
  lane = nullptr;
  receiving = false;
}

}  // namespace nezha
