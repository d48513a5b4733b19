// SPDX-License-Identifier: BSD-3-Clause
/// Decides when a settled size class compares its candidates again (a look), and whether all of them: once the calls
/// since the last round have taken kTimesPaid times the look's expected cost, and more rarely while looks change
/// nothing. Not thread safe; never allocates.
#pragma once

#include <cstdint>

namespace nezha {

class Looks {
 public:
  /// Another call of the settled class; true when a look is to begin with it.
  bool due();
  /// What due() will say of the next call.
  bool due_next() const;
  /// Asks for a look at all candidates, once the calls since the last round have taken kTimesPaidSoon times its cost.
  void ask() { asked_ = true; }
  /// Whether a look may begin because the usual time has risen.
  bool drift_counts() const;
  /// A look begins. True when it is at all candidates: every kLooksAtAll-th, and each that was asked for.
  bool begin();
  /// Whether the next look is at all candidates if none is asked for.
  bool next_at_all() const;
  /// The last look has changed the choice, or has not.
  void ended(bool changed);
  /// A round is over.
  void settled() { quiet_ = 0; }
  /// Nanoseconds of a call, and the expected cost of the next look and of one at all candidates.
  void set_price(std::uint64_t call, std::uint64_t next, std::uint64_t all);

 private:
  static constexpr std::uint64_t kFirstPatience = 256;

  std::uint64_t patience_ = kFirstPatience;  ///< calls before the next look, at least
  std::uint64_t paid_ = 0;                   ///< calls that take kTimesPaid times the next look's cost
  std::uint64_t paid_soon_ = 0;              ///< calls that take kTimesPaidSoon times the cost of a look at all
  std::uint64_t quiet_ = 0;                  ///< calls since the last round
  bool asked_ = false;
  unsigned looks_ = 0;
};

}  // namespace nezha
