// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/silence.h"

#include <algorithm>

namespace nezha {
namespace {

/// Between two looks no more than this counts: a process that did not run, or a machine that stood still, cannot tell.
constexpr Nanoseconds kMostAtOnce = 10 * kMillisecond;
constexpr Nanoseconds kMostExpected = kSecond;
constexpr Nanoseconds kLargestFloor = 100 * kMillisecond;
constexpr Nanoseconds kRemembered = 10 * kSecond;

}  // namespace

void Silence::look(const LanePulse& pulse, Nanoseconds expected, Nanoseconds now) {
  const bool answered = pulse.in_flight == 0 || pulse.delivered != delivered_;
  lasted_ = answered || !waiting_ ? 0 : lasted_ + std::clamp<Nanoseconds>(now - looked_, 1, kMostAtOnce);
  waiting_ = pulse.in_flight != 0;
  delivered_ = pulse.delivered;
  looked_ = now;
  heard_ = pulse.heard;
  expected_ = std::min(std::max(expected, pulse.rtt), kMostExpected);
  if (patient_until_ != 0 && now >= patient_until_) {
    patient_until_ = 0;
    floor_ = kFloor;
  }
}

/// Some kernels answer late without being gone. After a few mistakes it is known of which lanes.
void Silence::forgive(Nanoseconds now) {
  floor_ = std::min(2 * floor_, kLargestFloor);
  patient_until_ = now + kRemembered;
}

}  // namespace nezha
