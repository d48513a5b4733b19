// SPDX-License-Identifier: BSD-3-Clause
/// How much of a vector goes through aggregators where groups of ranks each have their part of it there (engine/aggregation): found
/// out by all ranks of the team together, since groups share the rails, and a step that one of them takes alone shows little.
///
/// Alike on all ranks, whether they are in a group or not, because it hears only what they have combined.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tuning/share_search.h"

namespace nezha {

class TeamShares {
 public:
  explicit TeamShares(AggregatorShare wanted) : searches_(wanted) {}

  /// Before a call that could go through them. False: nothing is to, which is counted.
  bool wanted(std::size_t bytes) { return !searches_.none() && !searches_.idle(bytes); }
  /// Of ShareSearches::kWhole, what is to.
  std::uint32_t share(std::size_t bytes) const { return searches_.share(bytes); }
  /// After it: the ranks are to combine words() by maximum. Ever more rarely while nobody reaches an aggregator, and rarely once the
  /// share is settled. Counts such calls.
  bool due(std::size_t bytes) {
    if (searches_.fixed()) return false;
    if (!searches_.searching(bytes)) {
      searches_.took(bytes, 0);
      if (++settled_calls_ % kNowAndThen != 0) return false;
    }
    if (left_ != 0) return --left_, false;
    return true;
  }
  /// `took`: the call on this rank, in any group or none; the shortest time is that of the last one to come. `through`: its group had
  /// aggregators in it. `changes`: how often that has joined or left some.
  std::span<std::uint64_t> words(Nanoseconds took, bool through, std::uint64_t changes) {
    words_ = {~static_cast<std::uint64_t>(took), through ? 1U : 0U, changes};
    return words_;
  }
  void combined(std::size_t bytes) {
    const auto [time, through, changes] = words_;
    if (changes > changes_) searches_.retry();
    changes_ = std::max(changes, changes_);
    if (through == 0) {
      pause_ = left_ = std::min(2 * pause_ + 1, kRarely);
      return;
    }
    pause_ = 0;
    if (searches_.searching(bytes)) searches_.took(bytes, static_cast<Nanoseconds>(~time));
  }

 private:
  static constexpr std::size_t kNowAndThen = 64, kRarely = 255;

  ShareSearches searches_;
  std::array<std::uint64_t, 3> words_{};
  std::uint64_t changes_ = 0;         ///< the most of a group's
  std::size_t settled_calls_ = 0;     ///< of which some are asked of
  std::size_t pause_ = 0, left_ = 0;  ///< calls between two such words while nobody reaches an aggregator
};

}  // namespace nezha
