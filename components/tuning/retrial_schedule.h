// SPDX-License-Identifier: BSD-3-Clause
/// Decides when a settled size class compares its candidates again (a retrial), and whether all of them: once the calls
/// since the last round have taken kTimesPaid times the retrial's expected cost, and more rarely while retrials change
/// nothing. Not thread safe; never allocates.
#pragma once

#include <cstdint>

namespace nezha {

class RetrialSchedule {
 public:
  /// Another call of the settled class; true when a retrial is to begin with it.
  bool due();
  /// What due() will say of the next call.
  bool due_next() const;
  /// Asks for a retrial of all candidates, once the calls since the last round have taken kTimesPaidSoon times its cost.
  void ask() { asked_ = true; }
  /// Whether a retrial may begin because the usual time has risen.
  bool drift_counts() const;
  /// A retrial begins. True when it is of all candidates: every kOfAll-th, and each that was asked for.
  bool begin();
  /// Whether the next retrial is of all candidates if none is asked for.
  bool next_at_all() const;
  /// The last retrial has changed the choice, or has not.
  void ended(bool changed);
  /// A round is over.
  void settled() { quiet_ = 0; }
  /// Nanoseconds of a call, and the expected cost of the next retrial and of one of all candidates.
  void set_price(std::uint64_t call, std::uint64_t next, std::uint64_t all);

 private:
  static constexpr std::uint64_t kFirstPatience = 256;

  std::uint64_t patience_ = kFirstPatience;  ///< calls before the next retrial, at least
  std::uint64_t paid_ = 0;                   ///< calls that take kTimesPaid times the next retrial's cost
  std::uint64_t paid_soon_ = 0;              ///< calls that take kTimesPaidSoon times the cost of a retrial of all
  std::uint64_t quiet_ = 0;                  ///< calls since the last round
  bool asked_ = false;
  unsigned retrials_ = 0;
};

}  // namespace nezha
