// SPDX-License-Identifier: BSD-3-Clause
/// What a settled size class does until it compares its candidates again: when it does, which, and at what cost.
/// And which calls the incumbent has.
#include <algorithm>

#include "tuning/size_class.h"

namespace nezha {
namespace {

constexpr double kNear = 1.5;  ///< worth another retrial

constexpr std::uint64_t kMeeting = 80'000;  ///< ns that bringing the ranks together before a trial should take
constexpr std::uint64_t kMostDearer = 8;  ///< a candidate's cost counts as so many times the chosen one's at most, else
                                          ///< one disturbance would exclude it for ever

}  // namespace

/// The members of a retrial: all, or those that can win and were near. Some retrials are of all, because the rails' rates may
/// have changed.
SizeClass::Group SizeClass::retried(bool all) const {
  Group group{};
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    group[i] = all || i == chosen_ || measured_[chosen_] == kUnknown ||
               (can_win(i) && (measured_[i] == kUnknown || rated(i) < kNear * rated(chosen_)));
  return group;
}

/// Nanoseconds that a retrial of these should cost beyond calls of the chosen one. A candidate that was never measured
/// counts as fast as the chosen one, or as twice as slow if it cannot win.
std::uint64_t SizeClass::price(const Group& members) const {
  const std::uint64_t own = measured_[chosen_];
  if (own == kUnknown) return 0;
  std::uint64_t time = 2 * kMeeting;  // agreements on trials, and on the confirmation of the chosen one
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!members[i] || excluded_[i]) continue;
    std::uint64_t expected = measured_[i];
    if (expected == kUnknown) expected = can_win(i) ? own : std::max(2 * own, odds_.least[i]);
    const std::uint64_t meetings = is_incumbent(i) && odds_.incumbent_at_risk ? 2 : 1;
    time += Round::kBurstCalls * std::min(expected - std::min(expected, own), kMostDearer * own) + meetings * kMeeting;
  }
  return time;
}

void SizeClass::set_price() {
  retrials_.set_price(measured_[chosen_], price(retried(retrials_.next_at_all())), price(retried(true)));
}

void SizeClass::begin_retrial() {
  begin(Stage::retrial, retried(retrials_.begin()));
  if (round_.one_burst()) settle();
}

std::uint64_t SizeClass::take_baseline() { return stage_ == Stage::settled ? baseline_.take() : kUnknown; }

bool SizeClass::follow(std::uint64_t baseline) {
  if (baseline == kUnknown || stage_ != Stage::settled) return false;
  if (!baseline_.risen(baseline, measured_[chosen_])) return false;
  if (!retrials_.drift_counts()) return false;
  // Where ranks meet in confirmations too a retrial measures no waiting for a late root, which this baseline may have in it.
  baseline_.set_usual(odds_.meets_in_confirmations ? baseline : kUnknown);
  retrials_.ask();
  begin_retrial();
  return true;
}

bool SizeClass::may_try_incumbent() const {
  if (!odds_.incumbent_at_risk) return false;
  if (stage_ != Stage::settled) return round_.turns_next() && is_incumbent(round_.turns_to());
  if (!retrials_.due_next()) return false;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (is_incumbent(i) && !excluded_[i]) return true;
  return false;
}

std::uint64_t SizeClass::left_to_incumbent() const {
  if (!odds_.incumbent_at_risk || !is_incumbent(carrier_)) return 0;
  return measured_[carrier_] == kUnknown ? kMeeting : measured_[carrier_];
}

}  // namespace nezha
