// SPDX-License-Identifier: BSD-3-Clause
/// When a size class that is settled looks at its candidates again, and whether at all of them: when the calls since the
/// last round have paid for what a look should cost, and ever more rarely while looks change nothing. Not thread safe; never
/// allocates.
#pragma once

#include <cstdint>

namespace nezha {

class Looks {
 public:
  /// Another call of the settled class; true when a look is to begin with it.
  bool due();
  /// There is reason for a look at all: as soon as it is paid for in small part.
  void ask() { asked_ = true; }
  /// A look for a level that has risen may begin.
  bool drift_counts() const;
  /// A look begins; true when it is to be at all candidates, as it is when somebody asked.
  bool begin();
  /// What the next one would be if nobody asks.
  bool next_at_all() const;
  /// The last look has changed the choice, or has not.
  void ended(bool changed);
  /// A round is over.
  void settled() { quiet_ = 0; }
  /// Nanoseconds: what a call takes, and what looks should cost, the next one and one at all.
  void set_price(std::uint64_t call, std::uint64_t next, std::uint64_t all);

 private:
  static constexpr std::uint64_t kFirstPatience = 256;

  std::uint64_t patience_ = kFirstPatience;  ///< calls until the next look, at least
  std::uint64_t paid_ = 0;                   ///< and until its price is a small part of theirs
  std::uint64_t paid_soon_ = 0;              ///< until that of a look at all is a part that a reason to look is worth
  std::uint64_t quiet_ = 0;                  ///< calls since the last round
  bool asked_ = false;
  unsigned looks_ = 0;
};

}  // namespace nezha
