// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_load.h"

namespace nezha {
namespace {

/// Spans shorter than this say more about bursts than about the link.
constexpr Nanoseconds kSpan = kMillisecond;
constexpr double kGain = 0.25;

}  // namespace

void RateMeter::sample(Nanoseconds now, std::uint64_t delivered, std::size_t fill) {
  if (since_ == 0) {
    since_ = now;
    delivered_ = delivered;
    return;
  }
  const Nanoseconds span = now - since_;
  const bool drained = fill == 0;
  if (span >= kSpan) {
    const double seen = static_cast<double>(delivered - delivered_) / static_cast<double>(span);
    // A span in which the queue ran empty measured the application, unless it was faster than what was known.
    if (rate_ == 0 && !drained)
      rate_ = seen;
    else if (rate_ != 0 && (!drained || seen > rate_))
      rate_ += kGain * (seen - rate_);
    since_ = now;
    delivered_ = delivered;
  }
  if (drained) since_ = 0;
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
