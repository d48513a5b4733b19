// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/way_trial.h"

#include <algorithm>
#include <bit>

namespace nezha {

bool WayTrial::through() {
  if (quiet_ != 0) return --quiet_, chosen_;
  return calls_++ / kBurst % 2 != 0;
}

void WayTrial::took(Nanoseconds time) {
  if (calls_ == 0 || quiet_ != 0) return;
  const std::size_t call = calls_ - 1;
  if (call % kBurst >= kCold) times_[call / kBurst] += time;
}

std::span<std::uint64_t> WayTrial::words() {
  for (std::size_t way = 0; way < words_.size(); ++way)
    words_[way] = static_cast<std::uint64_t>(std::min(times_[way], times_[way + 2]));
  return words_;
}

void WayTrial::agreed() {
  const double rails = static_cast<double>(words_[0]), star = static_cast<double>(words_[1]);
  const bool better = chosen_ ? rails * kGain < star : star * kGain < rails;
  between_ = better ? kSoon : std::min(2 * between_, kLate);
  chosen_ = chosen_ != better;
  quiet_ = between_;
  calls_ = 0;
  times_ = {};
}

std::string WayTrial::story() const {
  return std::string(chosen_ ? "whole through an aggregator" : "over the rails") + " (sums of times: rails " +
         std::to_string(words_[0] / kMicrosecond) + " us, aggregator " + std::to_string(words_[1] / kMicrosecond) + " us)";
}

void WayTrial::retry() {
  calls_ = quiet_ = 0;
  between_ = kSoon;
  times_ = {};
}

WayTrial& WayTrials::of(std::size_t bytes) {
  return classes_[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), classes_.size() - 1)];
}

}  // namespace nezha
