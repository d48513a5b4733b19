// SPDX-License-Identifier: BSD-3-Clause
/// Whether the far end of one lane has stopped answering, judged from its pulse. A far end that is only slow answers: its
/// kernel does, whatever its process does. Time comes with the calls.
#pragma once

#include <cstdint>

#include "rail/rail.h"
#include "util/clock.h"

namespace nezha {

class Silence {
 public:
  /// `expected`: how long an answer takes by what is queued and how fast the lane is.
  void look(const LanePulse& pulse, Nanoseconds expected, Nanoseconds now);
  /// Longer than can be expected: what was sent had better go another way too.
  bool suspicious() const { return lasted_ != 0 && lasted_ >= floor_ + expected_; }
  /// So long that the connection is of no use any more: what its kernel would try again comes too late.
  bool hopeless(Nanoseconds patience) const { return suspicious() && lasted_ >= patience && heard_ >= patience; }
  /// Nothing was answered since the last look either.
  bool goes_on(const LanePulse& pulse) const { return lasted_ != 0 && pulse.in_flight != 0 && pulse.delivered == delivered_; }
  /// How long it has lasted, as far as it was looked at; 0: the far end answers, or has nothing to answer.
  Nanoseconds lasted() const { return lasted_; }
  /// The far end speaks again after a suspicion.
  void forgive(Nanoseconds now);
  /// A new connection.
  void reset() { *this = {}; }

 private:
  /// A few ticks of the kernel; below it lie delayed interrupts and acknowledgements of a loaded machine.
  static constexpr Nanoseconds kFloor = 25 * kMillisecond;

  bool waiting_ = false;
  std::uint64_t delivered_ = 0;
  Nanoseconds looked_ = 0, lasted_ = 0, heard_ = 0, expected_ = 0;
  Nanoseconds floor_ = kFloor;
  Nanoseconds patient_until_ = 0;  ///< from then on the floor is as at first
};

}  // namespace nezha
