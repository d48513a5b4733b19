// SPDX-License-Identifier: BSD-3-Clause
/// How several aggregators divide what goes through them: each gets a part in proportion to how fast it was in the calls before.
///
/// Alike on all members, because it hears only times that they have agreed on, and computes with integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "util/aggregator_list.h"
#include "util/clock.h"

namespace nezha {

class ShareSplit {
 public:
  static constexpr std::size_t kMost = AggregatorList::kMost;
  using Cuts = std::array<std::uint32_t, kMost + 1>;

  ShareSplit() { weights_.fill(kEqual); }

  /// Cuts [0, whole): the part of each is [its cut, the next cut), empty for those that are not there.
  Cuts cuts(std::uint32_t whole, const std::array<bool, kMost>& there) const;
  /// How long each one's part took in a call; 0: it had none.
  void took(const std::array<Nanoseconds, kMost>& times);

 private:
  static constexpr std::int64_t kEqual = 1 << 16;

  std::array<std::int64_t, kMost> weights_;
};

}  // namespace nezha
