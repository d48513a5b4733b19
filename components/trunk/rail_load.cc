// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_load.h"

#include <algorithm>

#include "trunk/lane_state.h"

namespace nezha {
namespace {

/// Spans shorter than this say more about bursts than about the link.
constexpr Nanoseconds kSpan = kMillisecond;
/// Longer ones contain a time in which nobody looked.
constexpr Nanoseconds kLongSpan = 10 * kMillisecond;
/// A queue that falls below this was not kept full: its pace is that of the application.
constexpr std::size_t kBacklog = 32 * 1024;
/// Fewer bytes than this say nothing of a link's speed.
constexpr std::uint64_t kWorth = 8 * 1024;
constexpr double kGain = 0.25;
constexpr double kMostRaise = 4;   ///< times the rate, in one step
constexpr double kDrift = 1.02;

}  // namespace

/// Too low a rate would confirm itself, since the lane would get too little to show what it can; too high a rate fills
/// the queue and is found out. So a queue that ran empty can only raise the rate, and does so a little in any case.
void RateMeter::ran_empty(double seen) {
  if (rate_ == 0) return;
  rate_ = std::max(rate_ * kDrift, rate_ + kGain * (std::min(seen, kMostRaise * rate_) - rate_));
}

void RateMeter::sample(Nanoseconds now, std::uint64_t delivered, std::size_t fill) {
  if (since_ == 0) {
    since_ = now;
    delivered_ = delivered;
    backlogged_ = true;
    return;
  }
  backlogged_ = backlogged_ && fill >= kBacklog;
  const Nanoseconds span = now - since_;
  const std::uint64_t bytes = delivered - delivered_;
  const double seen = static_cast<double>(bytes) / static_cast<double>(std::max<Nanoseconds>(span, 1));
  if (fill == 0) {
    if (bytes >= kWorth) ran_empty(seen);
    since_ = 0;
  } else if (span >= kSpan) {
    if (backlogged_ && span <= kLongSpan) rate_ = rate_ == 0 ? seen : rate_ + kGain * (seen - rate_);
    since_ = now;
    delivered_ = delivered;
    backlogged_ = true;
  }
}

void RailLoad::refresh(Nanoseconds now, Nanoseconds age) {
  if (loaded.empty() || now - refreshed_ <= age) return;
  refreshed_ = now;
  for (std::size_t i = loaded.size(); i-- != 0;) loaded[i]->refresh(now);
}

void RailLoad::update(Nanoseconds now, std::size_t added, std::size_t drained) {
  if (fill == 0) busy_since_ = now;
  fill += added;
  fill -= drained;
  delivered += drained;
  busy += now - busy_since_;
  busy_since_ = now;
  meter.sample(now, delivered, fill);
}

}  // namespace nezha
