// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/lane_state.h"

#include <algorithm>

namespace nezha {

void LaneState::refresh(Nanoseconds now) {
  const std::size_t left = std::min(lane->fill(), fill);
  const std::size_t drained = fill - left;
  fill = left;
  delivered += drained;
  meter.sample(now, delivered, fill);
  rail->update(now, 0, drained);
  if (fill == 0) std::erase(rail->loaded, this);
}

void LaneState::handed(Nanoseconds now, std::size_t bytes) {
  if (fill == 0) {
    meter.sample(now, delivered, bytes);
    rail->loaded.push_back(this);
  }
  fill += bytes;
  rail->update(now, bytes, 0);
}

void LaneState::reset(Nanoseconds now) {
  rail->update(now, 0, fill);
  std::erase(rail->loaded, this);
  fill = 0;
  lane = nullptr;
  receiving = false;
}

}  // namespace nezha
