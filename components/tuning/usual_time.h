// SPDX-License-Identifier: BSD-3-Clause
/// The usual duration of a size's calls while no candidate is tried: the smallest one of each group of calls, which the
/// ranks agree on now and then (the paper's timer averages over ten calls instead). A rise is a reason for a retrial. Not
/// thread safe; never allocates.
#pragma once

#include <cstdint>

#include "tuning/round.h"

namespace nezha {

class UsualTime {
 public:
  static constexpr std::uint64_t kUnknown = Round::kUnknown;

  /// How long a call took here.
  void took(std::uint64_t duration);
  /// This rank's baseline: of its latest full group; kUnknown when there was none since this was last asked.
  std::uint64_t take();
  /// Whether the agreed baseline has risen above the usual one, or above `expected` if there is none. A baseline that has
  /// fallen becomes the usual one, because processes warm up and the other candidates have become faster too.
  bool risen(std::uint64_t agreed, std::uint64_t expected);
  /// Calls of other candidates follow: the group under way is dropped.
  void interrupt();
  /// Another candidate carries the calls from now on, or a retrial begins. kUnknown: the next baseline is compared with what
  /// is expected.
  void set_usual(std::uint64_t baseline) { usual_ = baseline; }

 private:
  std::uint64_t full_ = kUnknown;   ///< of the latest full group
  std::uint64_t group_ = kUnknown;  ///< and of the one that is not full yet
  std::uint64_t grouped_ = 0;       ///< calls in it
  std::uint64_t usual_ = kUnknown;
};

}  // namespace nezha
