// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/silence.h"

#include <algorithm>
#include <utility>

namespace nezha {
namespace {

/// Between two looks no more than this counts: a process that did not run, or a machine that stood still, cannot tell.
constexpr Nanoseconds kMostAtOnce = 10 * kMillisecond;
constexpr Nanoseconds kMostExpected = kSecond;
constexpr Nanoseconds kLargestFloor = 100 * kMillisecond;
constexpr Nanoseconds kRemembered = 10 * kSecond;

/// By then the kernel has tried again a few times, and waits ever longer; a new connection is faster. A lane that slows
/// down to a crawl brings answers half a second apart until its pace is known.
constexpr Nanoseconds kHopeless = kSecond;
/// The same where no other lane speaks.
constexpr Nanoseconds kAllHopeless = 3 * kSecond, kAllProcessesHopeless = 10 * kSecond;
/// A process that is not heard for so long, though it is asked, may have stood still: what proved that it ran counts no more.
constexpr Nanoseconds kLongestGap = 50 * kMillisecond;
/// So much silence of a process is suspicious without proof: a suspicion costs little, and the proof may be lost too.
constexpr Nanoseconds kUnproven = kSecond;
/// A process may be slow to read from one lane.
constexpr Nanoseconds kHeldBack = kSecond;

}  // namespace

void Silence::look(const LanePulse& pulse, Answers answers, Nanoseconds expected, bool elsewhere, Nanoseconds now) {
  const bool waits = pulse.in_flight != 0 || pulse.held_back;
  const bool answered = !waits || pulse.delivered != delivered_ || pulse.held_back != held_back_;
  by_process_ = answers == Answers::process;
  held_back_ = pulse.held_back;
  if (answered || !waiting_) {
    lasted_ = proven_ = 0;
    proven_at_ = now;
  } else {
    lasted_ += std::clamp<Nanoseconds>(now - looked_, 1, kMostAtOnce);
    if (elsewhere || !by_its_process()) prove(now);
  }
  waiting_ = waits;
  delivered_ = pulse.delivered;
  looked_ = now;
  heard_ = pulse.heard;
  expected_ = std::min(std::max(expected, pulse.rtt), kMostExpected);
  if (patient_until_ != 0 && now >= patient_until_) {
    patient_until_ = 0;
    floor_ = kFloor;
  }
}

/// The far end was able to answer until now.
void Silence::prove(Nanoseconds now) {
  const Nanoseconds since = now - std::exchange(proven_at_, now);
  if (!by_its_process())
    proven_ = lasted_;
  else
    proven_ = since > kLongestGap ? 0 : proven_ + std::clamp<Nanoseconds>(since, 1, kMostAtOnce);
}

bool Silence::suspicious() const {
  if (held_back_) return proven_ >= kHeldBack + expected_;
  return lasted_ != 0 && (proven_ >= floor_ + expected_ || lasted_ >= kUnproven + expected_);
}

bool Silence::hopeless(bool others_speak) const {
  if (others_speak && (proven_ < floor_ + expected_ || looked_ - proven_at_ > kLongestGap)) return false;
  const Nanoseconds patience = others_speak ? kHopeless : by_its_process() ? kAllProcessesHopeless : kAllHopeless;
  return suspicious() && lasted_ >= patience && heard_ >= patience;
}

/// Some kernels answer late without being gone. After a few mistakes it is known of which lanes.
void Silence::forgive(Nanoseconds now) {
  floor_ = std::min(2 * floor_, kLargestFloor);
  patient_until_ = now + kRemembered;
}

}  // namespace nezha
