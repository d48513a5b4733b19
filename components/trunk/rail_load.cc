// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_load.h"

#include "trunk/lane_state.h"

namespace nezha {
namespace {

/// Spans shorter than this say more about bursts than about the link.
constexpr Nanoseconds kSpan = kMillisecond;
/// A queue that falls below this was not kept full: its pace is that of the application.
constexpr std::size_t kBacklog = 32 * 1024;
/// Longer ones contain a time in which nobody looked.
constexpr Nanoseconds kLongSpan = 10 * kMillisecond;
constexpr double kGain = 0.25;

}  // namespace

void RateMeter::sample(Nanoseconds now, std::uint64_t delivered, std::size_t fill) {
  if (since_ == 0) {
    since_ = now;
    delivered_ = delivered;
    backlogged_ = true;
    return;
  }
  backlogged_ = backlogged_ && fill >= kBacklog;
  const Nanoseconds span = now - since_;
  if (span >= kSpan && span <= kLongSpan) {
    const double seen = static_cast<double>(delivered - delivered_) / static_cast<double>(span);
    if (rate_ == 0 && backlogged_)
      rate_ = seen;
    else if (rate_ != 0 && (backlogged_ || seen > rate_))
      rate_ += kGain * (seen - rate_);
  }
  if (span >= kSpan) {
    since_ = now;
    delivered_ = delivered;
    backlogged_ = true;
  }
  if (fill == 0) since_ = 0;
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
