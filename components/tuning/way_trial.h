// SPDX-License-Identifier: BSD-3-Clause
/// Finds, for each size of small vectors, whether they are faster whole through an aggregator than over the rails. Bursts of
/// calls alternate between the two ways; of each way the shorter burst counts, summed up over the members. The way in use stays
/// unless the other is faster by kGain. Trials come again after some calls, rarer as long as nothing changes.
///
/// Alike on all members: which way a call takes depends on the number of calls, and on words that they have combined.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "util/clock.h"

namespace nezha {

class WayTrial {
 public:
  static constexpr std::size_t kBurst = 16, kCold = 4;  ///< calls of a burst, of which the first are not timed
  static constexpr std::size_t kBursts = 4;
  static constexpr std::size_t kSoon = 1024, kLate = 65536;  ///< calls between two trials
  static constexpr double kGain = 1.05;

  /// A trial's bursts are over: words() are to be combined by sum.
  bool agreement_due() const { return calls_ == kBurst * kBursts; }
  std::span<std::uint64_t> words();
  void agreed();
  /// What they have found, for the log.
  std::string story() const;
  /// Whether this call goes through the aggregator. Counts it.
  bool through();
  /// How long that call took.
  void took(Nanoseconds time);
  void retry();

 private:
  bool chosen_ = false;    ///< the aggregator
  std::size_t calls_ = 0;  ///< of the trial
  std::size_t quiet_ = 0;  ///< calls until the next one
  std::size_t between_ = kSoon;
  std::array<Nanoseconds, kBursts> times_{};
  std::array<std::uint64_t, 2> words_{};
};

/// One for each power of two.
class WayTrials {
 public:
  WayTrial& of(std::size_t bytes);
  void retry() {
    for (WayTrial& trial : classes_) trial.retry();
  }

 private:
  std::array<WayTrial, 16> classes_;
};

}  // namespace nezha
