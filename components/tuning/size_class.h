// SPDX-License-Identifier: BSD-3-Clause
/// What a team learns about one size class: rounds of trials, and a decision at the end of each.
///
/// A round of trials gives each of its candidates a few calls in a row, of which the first is not timed: memory, caches
/// and Open MPI's connections are cold then. Before the second one the ranks meet, so that it takes as long as the way
/// does and not as long as the application keeps ranks apart; what another one takes longer than that does not count.
/// Such trials flatter what goes well at first only, as one rail does whose shape lets a burst through, or connections
/// whose queues are empty, and what comes first of all suffers. So the chosen one, and whoever is fastest by trials,
/// give proof in many calls in a row, without meetings: half of them where that is enough to see that it falls behind
/// the chosen one, and before that one whom trials may have flattered more. Which candidate a call uses depends on the
/// number of calls alone; a decision on the durations that the ranks agreed on. So all ranks go the same way without
/// talking.
///
/// opening (where calls take long) -> first (left out where there are few) -> compared -> proof -> settled; from there
/// now and then look -> proof. A look comes when the calls since the last one have paid for what it should cost. Not
/// thread safe. Allocates only when made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tuning/candidate.h"
#include "tuning/candidates.h"
#include "tuning/looks.h"
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
    opening,   ///< the first of them alone: what the rails' rates put behind it need not be tried
    first,     ///< one call each: what is far behind is left out
    compared,  ///< the best few
    settled,   ///< the chosen one; no trials
    look,      ///< a few calls each for those that were near, or for all
    proof      ///< many calls of one: the chosen one, or what trials say is fastest
  };

  /// What is known of the candidates before anything is measured.
  struct Odds {
    std::array<std::uint64_t, kMostCandidates> least{};  ///< what each takes at least; 0 = unknown
    double incumbent_handicap = 1;  ///< times what the incumbent takes must be less than what others take
    bool meets_in_proofs = false;   ///< ranks begin the calls of a proof together
  };

  /// The first candidate is used until something else is chosen. `tried`: what the first rounds try; nothing where all
  /// was measured before, so that the class begins settled.
  SizeClass(std::vector<Candidate> candidates, const Group& tried, bool learn, const Odds& odds);

  /// What carries the next call, and counts it.
  const Candidate& next();
  /// The ranks have to begin the next call together.
  bool meets_next() const { return round_.meets_next(); }
  /// It took so long elsewhere.
  void recall(const Candidate& candidate, std::uint64_t duration);
  /// How long the call that next() was last asked for has taken here, in a unit that is the same for all of the class.
  void took(std::uint64_t duration);

  /// All trials of a round are done: their durations have to be agreed on before the next call.
  bool round_over() const { return round_.over(); }
  /// This rank's durations of the trials, by trial; the rest is kUnknown.
  std::span<const std::uint64_t, kMostTrials> durations() const { return round_.durations(); }
  /// The agreed durations. True when the chosen candidate is another now.
  bool decide(std::span<const std::uint64_t, kMostTrials> agreed);

  /// There is reason to look at all candidates again: as soon as a look is paid for in small part, at the latest after
  /// the round that is under way.
  void look_again() { looks_.ask(); }
  /// The chosen candidate's level here (usual_time.h), to be agreed on; kUnknown when there is none.
  std::uint64_t take_level();
  /// The agreed level. True when it is so much higher than before that a look was begun.
  bool follow(std::uint64_t level);
  /// Never again: it may run over what is broken.
  void bar(AlgorithmChoice algorithm);

  Stage stage() const { return stage_; }
  const Candidate& chosen() const { return candidates_[chosen_]; }
  /// What is chosen, or the fastest of what is left when that is the incumbent; the incumbent where nothing is.
  Candidate best_of_ours() const;
  std::span<const Candidate> candidates() const { return candidates_; }
  /// The first search is over, or was never needed.
  bool was_settled() const { return was_settled_; }
  /// Which of these a class beside this one should try, by what was measured here: what is not far behind the chosen
  /// one, and what was never tried.
  Group promising(std::span<const Candidate> ways) const;
  /// What the candidate took when it was last measured, as much longer as its like took in proof; kUnknown when it was
  /// not.
  std::uint64_t measured(std::size_t candidate) const { return measured_[candidate]; }
  std::size_t chosen_index() const { return chosen_; }
  std::uint64_t calls() const { return calls_; }
  /// How many calls there had been when the chosen one began to carry those that it has carried in a row.
  std::uint64_t found_after() const { return carrier_ == chosen_ ? carries_since_ : calls_; }
  /// Adds what each rail carried in a call.
  void carry(std::span<const std::uint64_t> bytes);
  /// Bytes that each rail has carried here.
  std::span<const std::uint64_t, kMostRails> carried() const { return carried_; }

 private:
  void begin(Stage stage, const Group& members);
  void begin_search();
  bool can_win(std::size_t candidate) const;
  double handicapped(std::size_t candidate, std::uint64_t duration) const;
  double rated(std::size_t candidate) const { return handicapped(candidate, measured_[candidate]); }
  std::size_t next_carrier();
  void begin_look();
  void follow_a_clear_lead();
  void choose_what_is_proved();
  void begin_proof(std::size_t candidate);
  void take_proof(std::span<const std::uint64_t, kMostTrials> agreed);
  void conclude(std::size_t best);
  void settle();
  Group best(std::size_t count, double factor) const;
  Group looked_at(bool all) const;
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
  Group barred_{};
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

  Looks looks_;
  double margin_;    ///< by how much another must be faster
  UsualTime level_;  ///< of the chosen one
};

const char* name_of(SizeClass::Stage stage);

}  // namespace nezha
