// SPDX-License-Identifier: BSD-3-Clause
/// What the calls of a size usually take while nothing is being tried: the smallest duration of each group of calls, as the
/// paper's timer averages over ten, which the ranks agree on now and then. A rise is a reason to look for something else.
/// Not thread safe; never allocates.
#pragma once

#include <cstdint>

#include "tuning/round.h"

namespace nezha {

class UsualTime {
 public:
  static constexpr std::uint64_t kUnknown = Round::kUnknown;

  /// How long a call took here.
  void took(std::uint64_t duration);
  /// This rank's level: of its latest full group; kUnknown when there was none since this was last asked.
  std::uint64_t take();
  /// The agreed level has risen above what was usual; above `expected` where nothing was. A fall is what is usual from now
  /// on: processes warm up, and the other candidates have become faster too.
  bool risen(std::uint64_t agreed, std::uint64_t expected);
  /// Other calls come between: groups start anew.
  void interrupt();
  /// Something else carries the calls from now on, or is looked for.
  void forget_usual() { usual_ = kUnknown; }

 private:
  std::uint64_t full_ = kUnknown;   ///< of the latest full group
  std::uint64_t group_ = kUnknown;  ///< and of the one that is not full yet
  std::uint64_t grouped_ = 0;       ///< calls in it
  std::uint64_t usual_ = kUnknown;
};

}  // namespace nezha
