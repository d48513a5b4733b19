// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/lane_state.h"

#include <algorithm>

#include "trunk/lane_limits.h"

namespace nezha {

std::size_t LaneState::refresh(Nanoseconds now) {
  const std::size_t left = std::min(lane->fill(), fill);
  const std::size_t drained = fill - left;
  fill = left;
  if (rate.looked(now, drained, fill) && !lane->spec().same_node) rail->shown = rate.known();
  if (fill == 0) std::erase(rail->loaded, this);
  judge(now);
  return drained;
}

/// Where the other process takes nothing, its lane is not to blame.
void LaneState::judge(Nanoseconds now) {
  const auto verdict = punctuality.looked(now, fill);
  if (verdict == Punctuality::Verdict::in_time) rate.in_time(now);
  if (verdict == Punctuality::Verdict::late && lane->pulse().in_flight != 0) rate.late(now, pace(*this));
  if (fill != 0) rail->look_by(now, punctuality, rate.slowed());
}

void LaneState::handed(Nanoseconds now, std::size_t bytes) {
  if (fill == 0) rail->loaded.push_back(this);
  fill += bytes;
  given += bytes;
  handed_at = now;
  frames += 1;
  rail->update(now, bytes, 0);
  if (lane->answers() != Answers::transport) return;  // of a process nothing is expected by a certain time
  punctuality.expect(now, queue_time(*this));
  rail->look_by(now, punctuality, rate.slowed());
}

void LaneState::forget_fill(Nanoseconds now) {
  rail->update(now, 0, fill);
  std::erase(rail->loaded, this);
  fill = 0;
  rate.idle();
}

void LaneState::trust() {
  if (suspect) rail->suspects -= 1;
  suspect = false;
}

void LaneState::reset(Nanoseconds now) {
  forget_fill(now);
  trust();
  silence.reset();
  lane = nullptr;
  receiving = false;
}

}  // namespace nezha
