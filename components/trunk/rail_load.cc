// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_load.h"

#include <algorithm>
#include <bit>

#include "trunk/lane_state.h"

namespace nezha {
namespace {

/// A look comes so late at most.
constexpr Nanoseconds kWakeUp = 100 * kMicrosecond;

}  // namespace

void RailLoad::add_lane() { loaded.reserve(std::bit_ceil(++lanes_)); }

void RailLoad::refresh(Nanoseconds now, Nanoseconds age) {
  if (loaded.empty() || now - refreshed_ <= age) return;
  refreshed_ = now;
  if (now >= in_time_until_) in_time_until_ = 0;
  if (now >= late_from_) late_from_ = 0;
  std::size_t drained = 0;
  for (std::size_t i = loaded.size(); i-- != 0;) drained += loaded[i]->refresh(now);
  update(now, 0, drained);
}

void RailLoad::look_by(Nanoseconds now, const Punctuality& given, bool slowed) {
  const Nanoseconds in_time = given.in_time_until() - kWakeUp;
  if (slowed && in_time > now) in_time_until_ = sooner(in_time_until_, in_time);
  if (given.late_from() > now) late_from_ = std::max(late_from_, given.late_from());
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
