// SPDX-License-Identifier: BSD-3-Clause
/// A round of trials: calls in a row, each of a certain candidate, and what those that are timed have taken. Not thread safe;
/// never allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tuning/candidates.h"

namespace nezha {

class Round {
 public:
  static constexpr std::size_t kMostTrials = 24;
  /// The duration of a trial that was not measured.
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  /// Of the candidates, by their places.
  using Group = std::array<bool, kMostCandidates>;
  static constexpr std::size_t kBurstCalls = 3;
  static_assert(kMostCandidates * kBurstCalls <= kMostTrials);

  /// A timed call each; all are as cold as one another, but for the one that comes first, which has one before that.
  void begin_singles(const Group& members);
  /// A burst each: a call that is not timed, and two that are. `last` comes last, so that its burst runs into its confirmation;
  /// with `opens`, one more call of it that is not timed comes first.
  void begin_bursts(const Group& members, std::size_t last, bool opens);
  /// `cold` calls of one that are not timed, and `timed` that are, before each of which the ranks meet if `meets`;
  /// kMostTrials at most.
  void begin_confirmation(std::size_t candidate, std::size_t cold, std::size_t timed, bool meets);
  void end() { at_ = trials_ = 0; }

  bool under_way() const { return trials_ != 0; }
  /// All its calls were asked for.
  bool over() const { return under_way() && at_ == trials_; }
  /// There is nothing to compare in it.
  bool one_burst() const { return trials_ <= kBurstCalls; }
  /// The ranks have to begin the next call together.
  bool meets_next() const { return at_ < trials_ && trial_[at_].call == Call::met; }
  /// The next call is the first of a burst, or of a confirmation, and of that candidate.
  bool turns_next() const { return at_ < trials_ && (at_ == 0 || trial_[at_].candidate != trial_[at_ - 1].candidate); }
  std::size_t turns_to() const { return trial_[at_].candidate; }
  /// The candidate of the next call; of the first; of the one that was last asked for.
  std::size_t next() { return trial_[at_++].candidate; }
  std::size_t first() const { return trial_[0].candidate; }
  std::size_t current() const { return trial_[at_ - 1].candidate; }
  /// How long that one has taken here.
  void took(std::uint64_t duration);

  /// By trial; kUnknown for what was not timed.
  std::span<const std::uint64_t, kMostTrials> durations() const { return durations_; }
  /// A candidate's median of such durations, the lower of the two middle ones; kUnknown when there is none.
  std::uint64_t median(std::span<const std::uint64_t, kMostTrials> durations, std::size_t candidate) const;

 private:
  enum class Call : std::uint8_t { cold, met, timed };  ///< not timed; timed after a meeting; timed
  static constexpr std::array<Call, kBurstCalls> kBurst = {Call::cold, Call::met, Call::timed};
  struct Trial {
    std::uint8_t candidate;
    Call call;
  };

  void clear();
  void add(std::size_t candidate, Call call);
  void add_burst(std::size_t candidate);

  std::array<Trial, kMostTrials> trial_{};  ///< in the order of the calls
  std::array<std::uint64_t, kMostTrials> durations_{};
  std::size_t trials_ = 0;
  std::size_t at_ = 0;
};

}  // namespace nezha
