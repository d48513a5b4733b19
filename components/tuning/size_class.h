// SPDX-License-Identifier: BSD-3-Clause
/// What a team learns about one size class: rounds of trials, and a decision at the end of each.
///
/// A trial is a burst of three calls of one candidate. The first is not timed, because memory, caches and Open MPI's
/// connections are cold. Before the second the ranks meet, because they would otherwise measure how far the application
/// keeps them apart; a third call that takes longer than the second does not count.
/// A burst overestimates candidates that start fast: a rate-limited link passes a burst, and an empty queue hides
/// latency. It underestimates the candidate that comes first. So the chosen candidate and the fastest one of a round
/// have a confirmation: many calls in a row, without meetings. A candidate that falls behind the chosen one in
/// half of them gets no more; the candidate that its trial may have overestimated most is confirmed first. The
/// candidate of a call follows from the number of calls alone, a decision from durations that the ranks agreed on: so
/// all ranks choose alike without a message.
///
/// opening (where calls take long) -> first (left out where there are few) -> compared -> confirmation -> settled, and from
/// there now and then retrial -> confirmation. A retrial begins when its expected cost is a small part of the calls since the last
/// one. Not thread safe. Allocates only when made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tuning/candidate.h"
#include "tuning/candidates.h"
#include "tuning/retrial_schedule.h"
#include "tuning/round.h"
#include "tuning/usual_time.h"
#include "util/clock.h"

namespace nezha {

class SizeClass {
 public:
  static constexpr std::size_t kMostTrials = Round::kMostTrials;
  static constexpr std::uint64_t kUnknown = Round::kUnknown;
  using Group = Round::Group;

  enum class Stage : std::uint8_t {
    fixed,     ///< there is nothing to choose from
    opening,   ///< the first candidate alone: those that cannot beat its time by the rails' rates are not tried
    first,     ///< one call each: what is far behind is left out
    compared,  ///< the best few
    settled,   ///< the chosen one; no trials
    retrial,   ///< a few calls each for those that were near, or for all
    confirmation  ///< many calls of one: the chosen one, or the fastest one by its trial
  };

  /// What is known of the candidates before any is measured.
  struct Odds {
    std::array<std::uint64_t, kMostCandidates> least{};  ///< what each takes at least; 0 = unknown
    double incumbent_handicap = 1;  ///< the incumbent's time is multiplied by it before it is compared
    bool meets_in_confirmations = false;  ///< ranks begin the calls of a confirmation together
    bool incumbent_at_risk = false;  ///< its network may be lost: the ranks agree before it is tried
  };

  /// The first candidate is used until something else is chosen. `tried`: what the first rounds try; nothing where all
  /// was measured before, so that the class begins settled.
  SizeClass(std::vector<Candidate> candidates, const Group& tried, bool learn, const Odds& odds);

  /// The candidate that carries the next call. Counts the call.
  const Candidate& next();
  /// The ranks have to agree before the next call: to begin it together, or because it may be the incumbent's first in
  /// a round.
  bool meets_next() const { return round_.meets_next() || may_try_incumbent(); }
  /// Nanoseconds that the incumbent should take, by what was agreed, for the call that next() was last asked for; 0 if
  /// another candidate carries it, or if nothing puts the incumbent at risk.
  std::uint64_t left_to_incumbent() const;
  /// The duration of a candidate that a table file or another job has measured.
  void recall(const Candidate& candidate, std::uint64_t duration);
  /// The duration, on this rank, of the call that next() was last asked for; in one unit for all calls of the class.
  void took(std::uint64_t duration);

  /// All trials of a round are done: their durations have to be agreed on before the next call.
  bool round_over() const { return round_.over(); }
  /// This rank's durations of the trials, by trial; the rest is kUnknown.
  std::span<const std::uint64_t, kMostTrials> durations() const { return round_.durations(); }
  /// The agreed durations. True when the chosen candidate is another now.
  bool decide(std::span<const std::uint64_t, kMostTrials> agreed);

  /// Asks for a retrial of all candidates. It begins after the round that is under way, and not before it costs a small
  /// part of the calls since the last one.
  void retry() { retrials_.ask(); }
  /// The chosen candidate's baseline here (usual_time.h), to be agreed on; kUnknown when there is none.
  std::uint64_t take_baseline();
  /// The agreed baseline. True when it is so much higher than before that a retrial was begun.
  bool follow(std::uint64_t baseline);
  /// Candidates with this algorithm carry no call while they are excluded, because it may use a network that is broken.
  void exclude(AlgorithmChoice algorithm, bool excluded);

  Stage stage() const { return stage_; }
  const Candidate& chosen() const { return candidates_[chosen_]; }
  /// What is chosen, or the fastest of what is left when that is the incumbent; the incumbent where nothing is.
  Candidate best_of_ours() const;
  std::span<const Candidate> candidates() const { return candidates_; }
  /// The first search is over, or was never needed.
  bool was_settled() const { return was_settled_; }
  /// The candidates that the class of half or twice the size should try: those not far behind the chosen one here, and
  /// those that were not tried here.
  Group near_best(std::span<const Candidate> ways) const;
  /// The candidate's last measured duration, corrected by what confirmations of similar candidates have added to their
  /// trials'; kUnknown when it was not measured.
  std::uint64_t measured(std::size_t candidate) const { return measured_[candidate]; }
  std::size_t chosen_index() const { return chosen_; }
  std::uint64_t calls() const { return calls_; }
  /// The number of calls before the chosen candidate's latest uninterrupted run of calls.
  std::uint64_t found_after() const { return carrier_ == chosen_ ? carries_since_ : calls_; }
  /// Adds what each rail carried in a call.
  void carry(std::span<const std::uint64_t> bytes);
  /// Bytes that each rail has carried here.
  std::span<const std::uint64_t, kMostRails> carried() const { return carried_; }

 private:
  void begin(Stage stage, const Group& members);
  void open();
  void follow_opening(std::uint64_t before);
  void begin_search();
  bool can_win(std::size_t candidate) const;
  double handicapped(std::size_t candidate, std::uint64_t duration) const;
  double rated(std::size_t candidate) const { return handicapped(candidate, measured_[candidate]); }
  bool is_incumbent(std::size_t candidate) const {
    return candidates_[candidate].algorithm == AlgorithmChoice::incumbent;
  }
  bool may_try_incumbent() const;
  std::size_t next_carrier();
  void begin_retrial();
  void follow_a_clear_lead();
  void choose_what_is_confirmed();
  void begin_confirmation(std::size_t candidate);
  void take_confirmation(std::span<const std::uint64_t, kMostTrials> agreed);
  void conclude(std::size_t best);
  void settle();
  Group best(std::size_t count, double factor) const;
  Group retried(bool all) const;
  std::uint64_t price(const Group& members) const;
  void set_price();
  void read(std::span<const std::uint64_t, kMostTrials> agreed);
  std::size_t fastest() const;
  /// By more than that part, than the chosen one.
  bool faster(std::size_t candidate, double margin) const;

  std::vector<Candidate> candidates_;
  const Odds odds_;
  const Group tried_;  ///< by the first search
  std::array<std::uint64_t, kMostCandidates> measured_;
  Group excluded_{};
  Stage stage_;
  std::size_t chosen_ = 0;
  std::uint64_t calls_ = 0;
  std::size_t carrier_ = 0;          ///< of the latest call
  std::uint64_t carries_since_ = 0;  ///< calls before those in a row that it carried
  std::array<std::uint64_t, kMostRails> carried_{};

  Round round_;
  enum class Proof : std::uint8_t { none, brief, full };
  std::array<Proof, kMostCandidates> proof_{};  ///< given since the latest trials
  bool was_settled_;
  std::size_t openings_ = 0;  ///< that have ended

  RetrialSchedule retrials_;
  double margin_;    ///< by how much another must be faster
  UsualTime baseline_;  ///< of the chosen one
};

const char* name_of(SizeClass::Stage stage);

}  // namespace nezha
