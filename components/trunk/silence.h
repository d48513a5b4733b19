// SPDX-License-Identifier: BSD-3-Clause
/// Whether the far end of one lane has stopped answering, judged from its pulse. Time comes with the calls.
///
/// Where a kernel or a NIC answers, silence counts from the look at which an answer was due. Where the other process answers
/// (Answers::process), the same silence may mean that it does not run. Then only time counts in which it is heard by
/// another lane: it ran, and the answer should have come. So it is where a window is closed, which the process should have opened
/// by what it reads: kernels whose packets are lost then do no more than ask now and then, for half an hour.
#pragma once

#include <cstdint>

#include "rail/rail.h"
#include "util/clock.h"

namespace nezha {

class Silence {
 public:
  /// `expected`: how long an answer takes by what is queued and how fast the lane is. `elsewhere`: the other process was heard
  /// by another lane since the last look.
  void look(const LanePulse& pulse, Answers answers, Nanoseconds expected, bool elsewhere, Nanoseconds now);
  /// Longer than can be expected: what was sent had better go another way too.
  bool suspicious() const;
  /// So long that the connection is of no use any more. `others_speak`: another lane to the same peer answers; else it is more
  /// likely the peer that stands still than its network.
  bool hopeless(bool others_speak) const;
  /// An answer is overdue, and a sign of the other process by another lane would tell whether this is silence. Not before:
  /// what asks for that sign wants an answer too.
  bool needs_proof() const { return by_process_ && lasted_ != 0 && lasted_ >= expected_; }
  /// Nothing was answered since the last look either.
  bool goes_on(const LanePulse& pulse) const {
    return lasted_ != 0 && (pulse.in_flight != 0 || pulse.held_back) && pulse.delivered == delivered_;
  }
  /// How long it has lasted, as far as it was looked at; 0: the far end answers, or has nothing to answer.
  Nanoseconds lasted() const { return lasted_; }
  /// The far end speaks again after a suspicion.
  void forgive(Nanoseconds now);
  /// A new connection.
  void reset() { *this = {}; }

 private:
  /// A few ticks of the kernel; below it lie delayed interrupts and acknowledgements of a loaded machine.
  static constexpr Nanoseconds kFloor = 25 * kMillisecond;

  /// The process answers, and not its kernel or NIC.
  bool by_its_process() const { return by_process_ || held_back_; }
  void prove(Nanoseconds now);

  bool waiting_ = false, by_process_ = false, held_back_ = false;
  std::uint64_t delivered_ = 0;
  Nanoseconds looked_ = 0, lasted_ = 0, heard_ = 0, expected_ = 0;
  Nanoseconds proven_ = 0;     ///< of lasted_, in which the far end was able to answer
  Nanoseconds proven_at_ = 0;  ///< up to when that is known
  Nanoseconds floor_ = kFloor;
  Nanoseconds patient_until_ = 0;  ///< from then on the floor is as at first
};

}  // namespace nezha
