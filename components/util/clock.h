// SPDX-License-Identifier: BSD-3-Clause
/// Time is injected: nothing under the engine reads a clock or sleeps by itself, so that the simulator can own time.
#pragma once

#include <cstdint>

namespace nezha {

/// Nanoseconds on a monotonic clock with an arbitrary origin.
using Nanoseconds = std::int64_t;

constexpr Nanoseconds kMicrosecond = 1000;
constexpr Nanoseconds kMillisecond = 1000 * kMicrosecond;
constexpr Nanoseconds kSecond = 1000 * kMillisecond;

/// The lesser of two times of which 0 is none: when something is due first, or the shortest so far.
constexpr Nanoseconds sooner(Nanoseconds one, Nanoseconds other) {
  return one == 0 || (other != 0 && other < one) ? other : one;
}

class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back. Any thread.
  virtual Nanoseconds now() const = 0;
};

}  // namespace nezha
