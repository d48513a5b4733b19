// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/punctuality.h"

#include <algorithm>

namespace nezha {
namespace {

/// The last two segments may wait for a delayed answer.
constexpr std::size_t kAnswered = 3000;
constexpr Nanoseconds kPatience = 500 * kMicrosecond;
constexpr Nanoseconds kAnswer = 200 * kMicrosecond;
constexpr unsigned kMostDoublings = 10;
/// Once proves nothing: the kernel that should answer may wait for a processor.
constexpr unsigned kTimes = 6;

}  // namespace

/// A lane that stands still, since a packet was lost, is not slower each time that somebody looks: patience doubles.
void Punctuality::expect(Nanoseconds now, Nanoseconds time) {
  time_ = time;
  in_time_until_ = now + time + kAnswer;
  late_from_ = now + time + (std::max(time, kPatience) << std::min(at_once_, kMostDoublings));
}

Punctuality::Verdict Punctuality::looked(Nanoseconds now, std::size_t left) {
  if (left == 0) {
    const bool in_time = at_once_ == 0 && now < in_time_until_;
    if (in_time) times_ = 0;
    at_once_ = 0;
    late_from_ = 0;
    return in_time ? Verdict::in_time : Verdict::none;
  }
  if (left <= kAnswered || late_from_ == 0 || now < late_from_) return Verdict::none;
  ++at_once_;
  times_ = std::min(times_ + 1, kTimes);
  expect(now, time_);
  return times_ == kTimes ? Verdict::late : Verdict::none;
}

}  // namespace nezha
