// SPDX-License-Identifier: BSD-3-Clause
/// Wakes whoever waits for a provider that wakes nobody: a descriptor that polls readable some time after it was armed, later
/// each time as long as nothing happens.
#pragma once

#include "util/clock.h"
#include "util/fd.h"
#include "util/status.h"

namespace nezha {

class PollTimer {
 public:
  Status open();
  int fd() const { return fd_.get(); }
  void arm();
  /// Something is about to happen.
  void expect() { span_ = kShortest; }
  /// Whoever waits is awake. `moved`: something has happened.
  void awake(bool moved);
  Nanoseconds span() const { return span_; }

 private:
  static constexpr Nanoseconds kShortest = 50 * kMicrosecond, kLongest = 10 * kMillisecond;

  Fd fd_;
  Nanoseconds span_ = kShortest;  ///< of the next arming
  Nanoseconds armed_ = 0;         ///< for so long; 0 = it is not
};

}  // namespace nezha
