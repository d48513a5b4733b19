// SPDX-License-Identifier: BSD-3-Clause
/// What a team knows of each size class of one collective, and which candidate carries its next call.
///
/// Every rank of the team has such tables, and all go through the same states: what they depend on is the terms that the
/// team agreed on, the sequence of its calls, and words that the engine combines over the ranks (inside a call) when
/// agreement_due() says so. Guarded by the engine's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tuning/candidates.h"
#include "tuning/rows.h"
#include "tuning/size_class.h"
#include "util/clock.h"

namespace nezha {

class Table {
 public:
  /// Words of an agreement: two flags, then a baseline for each size class or durations for each trial of one.
  static constexpr std::size_t kWords = 2 + kSizeClasses;
  static_assert(2 * SizeClass::kMostTrials <= kSizeClasses);

  /// Forgets what there was: the team has agreed on these terms.
  void begin(const Terms& terms);

  /// After begin() and before any call: what is known beforehand, kRows words in the form of rows.h, alike on all
  /// ranks. These classes begin settled; without learning they stay as they are.
  struct Recalled {
    std::size_t classes = 0;
    std::size_t left_out = 0;  ///< classes whose way is not possible for such vectors or under these terms
    std::string example;       ///< of what was left out
  };
  Recalled recall(std::span<const std::uint64_t> rows);
  /// The rails' rates, which the terms lacked. At the same call on all ranks: what was measured without is measured anew.
  void learn_rates(double rate, double best_rail);
  /// Of the team's rank 0, by which ways name them.
  void name_rails(RailNames names) { rails_ = std::move(names); }
  const RailNames& rails() const { return rails_; }

  /// Such calls are the incumbent's, whatever is measured.
  bool leaves(std::size_t bytes, std::size_t element) const {
    return unmeasured(bytes, element) == AlgorithmChoice::incumbent;
  }

  // ---- agreements: at the start of a call, on all ranks alike
  /// One is due before a call of `bytes` bytes in elements of `element`. To be asked again after each. Also before each
  /// trial: the operation that combines the words brings the ranks together, so that how long the trial takes is not
  /// the imbalance of the application. And before the incumbent is tried, and now and then while it carries calls: no
  /// rank can tell the others in these that it has to be excluded.
  bool agreement_due(std::size_t bytes, std::size_t element);
  /// This rank's words; each to be replaced by the sum of all ranks' words when adds() says so, else by the smallest.
  std::span<std::uint64_t, kWords> words();
  bool adds() const { return about_ == About::trials && !has_root(terms_.collective); }
  /// The words are those of all ranks now. True when something was decided.
  bool agreed();
  /// That decision, for the log.
  std::string story() const;

  // ---- calls
  /// What carries this call. Its took() may be left out when nobody measured it. `carried`: bytes by rail.
  Candidate next(std::size_t bytes, std::size_t element);
  /// The same for a call that nobody can time, since others are under way beside it. Never the incumbent for what
  /// learning found, since it was not measured like that.
  Candidate next_untimed(std::size_t bytes, std::size_t element) const;
  /// True when took() is of use for the call that next() was last asked for.
  bool measures() const { return current_ != nullptr; }
  void took(Nanoseconds duration, std::span<const std::uint64_t> carried = {});

  // ---- what a rank noticed, for the next agreement
  /// What was measured no longer holds, for instance since a rail came or went: try everything again.
  void ask_for_retrial() { asks_ = true; }
  /// A lane was lost, or still is: the incumbent may run over what is broken, so the team leaves it alone. Where it has
  /// no network but the rails, whose connections may not survive that, for good; else until no rank has asked for long.
  /// May be called before begin().
  void ask_to_exclude_incumbent() { asks_to_exclude_ = true; }

  /// What carries such calls is known, or is not learned.
  bool settled(std::size_t bytes, std::size_t element) const {
    const SizeClass* known = classes_[size_class_of(bytes)].get();
    return !learns(bytes, element) || (known != nullptr && known->was_settled());
  }
  /// Null: no call of that class yet.
  const SizeClass* size_class(std::size_t index) const { return classes_[index].get(); }
  const Terms& terms() const { return terms_; }

 private:
  AlgorithmChoice unmeasured(std::size_t bytes, std::size_t element) const;
  bool chooses() const { return terms_.plan.algorithm == AlgorithmChoice::automatic; }
  bool learns(std::size_t bytes, std::size_t element) const;
  SizeClass& class_of(std::size_t bytes);
  void make_class(std::size_t index, std::vector<Candidate> ways, const SizeClass::Group& tried);
  bool settled_beside(std::size_t neighbour) const;
  void begin_with_neighbours(std::size_t index, std::vector<Candidate>& ways) const;
  SizeClass::Group near_best(std::size_t index, std::span<const Candidate> ways) const;
  std::uint64_t baseline_word(std::uint64_t baseline) const;
  std::uint64_t baseline_of(std::uint64_t agreed) const;
  bool all_say(std::size_t flag) const;
  void apply_flags();
  void follow_exclusions(bool allowed);
  void exclude_incumbent(bool excluded);
  void retry();

  Terms terms_;
  RailNames rails_;
  std::array<std::unique_ptr<SizeClass>, kSizeClasses> classes_;
  bool excluded_ = false;
  std::uint64_t idle_ = 0;         ///< weight of the calls since a rank asked for that
  std::uint64_t idle_needed_ = 0;  ///< at which weight the incumbent is allowed again

  // The call under way.
  SizeClass* current_ = nullptr;  ///< null: not measured
  std::size_t current_bytes_ = 0;
  std::size_t current_class_ = 0;

  // Agreements.
  std::array<std::uint64_t, kWords> words_{};
  enum class About : std::uint8_t { baselines, trials, confirmation, meeting };
  About about_ = About::baselines;
  bool met_ = false;           ///< the ranks have just come together
  SizeClass* over_ = nullptr;  ///< whose round is over
  std::size_t over_class_ = 0;
  bool changed_ = false;        ///< the latest decision was for another candidate
  std::uint64_t weight_ = 0;    ///< of the calls since the last agreement on baselines
  std::uint64_t interval_ = 0;  ///< at which weight the next is due
  std::uint64_t left_ = 0;      ///< ns that the incumbent's calls since the last agreement of any kind should take
  bool asks_ = false;
  bool asks_to_exclude_ = false;
};

}  // namespace nezha
