// SPDX-License-Identifier: BSD-3-Clause
/// Whether what a lane was given leaves when it should, by the rate that the lane is thought to have. Of messages that are too
/// small for that rate to be measured (lane_rate.h) nothing else tells that it is wrong. Not thread safe; never allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/clock.h"

namespace nezha {

class Punctuality {
 public:
  enum class Verdict : std::uint8_t {
    none,
    in_time,  ///< all has left
    late,     ///< not even in twice the time, and so several times, and never in time between
  };

  /// Something was handed over. All that is there should leave within `time`.
  void expect(Nanoseconds now, Nanoseconds time);
  /// So many bytes are left.
  Verdict looked(Nanoseconds now, std::size_t left);
  /// A look tells until then whether it is in time, and from then on whether it is late. 0: nothing is expected.
  Nanoseconds in_time_until() const { return in_time_until_; }
  Nanoseconds late_from() const { return late_from_; }

 private:
  Nanoseconds time_ = 0, in_time_until_ = 0, late_from_ = 0;
  unsigned times_ = 0;    ///< late, and never in time since
  unsigned at_once_ = 0;  ///< of these, since nothing was left
};

}  // namespace nezha
