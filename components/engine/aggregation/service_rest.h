// SPDX-License-Identifier: BSD-3-Clause
/// How long an aggregation service may sleep when no descriptor has anything. Times as the clock has them; 0 is none.
#pragma once

#include <algorithm>

#include "util/clock.h"

namespace nezha {

struct ServiceRest {
  static constexpr Nanoseconds kStepEvery = kMillisecond;  ///< at most: what is due is done in steps
  static constexpr Nanoseconds kLongest = 100 * kMillisecond;

  Nanoseconds stepped = 0;  ///< the latest step
  Nanoseconds due = 0;      ///< when one has something to do
  bool eager = false;       ///< operations are under way, or acks outstanding

  /// What is overdue waits for the next step: no sleep before that would bring it about.
  Nanoseconds span(Nanoseconds now) const {
    const Nanoseconds longest = eager ? kStepEvery : kLongest;
    return due == 0 ? longest : std::clamp<Nanoseconds>(std::max(due, stepped + kStepEvery) - now, 0, longest);
  }
};

}  // namespace nezha
