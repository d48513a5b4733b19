// SPDX-License-Identifier: BSD-3-Clause
/// When a process of the simulation next looks at its lanes: soon after it was woken, and when its earliest alarm goes off.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "rail/sim/network.h"
#include "rail/sim/random.h"

namespace nezha::test {

class Waker {
 public:
  /// `look` is called from inside the network's steps, until the end of which this lives.
  Waker(SimNetwork& network, std::function<void()> look) : network_(network), look_(std::move(look)) {}

  void wake(SimRandom& random) {
    if (woken_) return;
    woken_ = true;
    network_.after(random.between(0, 3 * kMicrosecond), [this] {
      woken_ = false;
      look_();
    });
  }
  void alarm_after(Nanoseconds time) {
    const Nanoseconds when = network_.now() + std::max<Nanoseconds>(time, 0);
    if (alarm_at_ != 0 && alarm_at_ <= when) return;
    alarm_at_ = when;
    network_.after(time, [this, when] {
      if (alarm_at_ != when) return;
      alarm_at_ = 0;
      look_();
    });
  }

 private:
  SimNetwork& network_;
  const std::function<void()> look_;
  bool woken_ = false;
  Nanoseconds alarm_at_ = 0;  ///< in the network's time; 0: none is set
};

}  // namespace nezha::test
