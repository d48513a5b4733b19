// SPDX-License-Identifier: BSD-3-Clause
/// How fast a lane is, as its sender sees it: from what left its queue while there was something in it all the time. What
/// the kernel says of a connection that mostly waits for the application is of no use: it only ever grows. Bytes leave when
/// the other side's transport has answered for them. Not thread safe; never allocates.
#pragma once

#include <cstddef>

#include "util/clock.h"

namespace nezha {

class LaneRate {
 public:
  LaneRate() = default;
  explicit LaneRate(double known) : rate_(known), measured_(kEnough), best_(known) {}

  /// Bytes per nanosecond; 0 = not measured yet.
  double known() const { return sure() ? rate_ : 0; }
  /// So much has left since the last look, and so much is queued now. True when the rate was measured again.
  bool looked(Nanoseconds now, std::size_t left, std::size_t queued);
  /// The queue counts as empty from here on.
  void idle();
  /// It is thought to be slower than it was.
  bool doubted() const { return sure() && rate_ < before_; }
  /// The lane was lost and is back: thought to be slower than it was, and less so with all that it delivers.
  void doubt();
  /// What it was given was still there when it should have left long since at `pace`.
  void late(Nanoseconds now, double pace);
  /// What it was given left when it should.
  void in_time(Nanoseconds now);
  /// It is thought to be so much slower than it once was that it should be tried now and then: after so many times what the trial
  /// should take.
  bool slowed() const { return sure() && rate_ < kSlowed * best_; }
  unsigned rest() const { return rest_; }

 private:
  static constexpr double kSlowed = 0.8;
  static constexpr unsigned kRest = 50, kMostRest = 64 * kRest;
  static constexpr unsigned kEnough = 3;  ///< the best of them counts: a new connection sends slowly at first

  bool sure() const { return measured_ >= kEnough; }
  bool measures(Nanoseconds now) const;
  bool long_enough(Nanoseconds span) const;
  void follow(double seen, bool burst);
  void earn(Nanoseconds now);

  double rate_ = 0;
  unsigned measured_ = 0;   ///< how often, up to what is enough
  Nanoseconds measured_at_ = 0;
  double before_ = 0;       ///< what it was when it began to be doubted
  unsigned rest_ = kRest;
  double best_ = 0;         ///< what it was at best, as far as is remembered
  Nanoseconds earned_ = 0;  ///< when some of that was given back, the last time
  // Since the queue was empty.
  Nanoseconds begun_ = 0;   ///< when something left for the first time; 0 = nothing has
  std::size_t passed_ = 0;  ///< bytes that have left since
  bool flows_ = false;      ///< what its link lets through in a burst has passed

  // The measurement under way.
  Nanoseconds since_ = 0;
  std::size_t left_ = 0;    ///< bytes that have left since
};

}  // namespace nezha
