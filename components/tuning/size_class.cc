// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/size_class.h"

#include <algorithm>
#include <utility>

namespace nezha {
namespace {

constexpr double kFarBehind = 2.5;  ///< after one call each, a cold one
constexpr double kNearBest = 1.3;  ///< worth a trial at twice or half the size
constexpr std::size_t kCompared = 3;
constexpr std::size_t kAllCompared = 4;  ///< so few need no first round
/// The first half of a confirmation is not timed, because a rate limit's burst and empty queues last for some calls.
constexpr std::size_t kFewestConfirming = 2, kMostConfirming = 8;
constexpr std::size_t kFewestBrief = 4;          ///< no less is worth half a confirmation
constexpr std::uint64_t kConfirmingTime = 4'000'000;  ///< ns of each half, where that is not too few calls or too many
static_assert(2 * kMostConfirming <= SizeClass::kMostTrials);
constexpr std::uint64_t kLittle = 2'000'000;  ///< ns, of a whole confirmation

/// From so many ns a call on, only candidates that can win are tried, because the trials of others cost more than they
/// gain.
constexpr std::uint64_t kOpening = 1'000'000;
constexpr double kWorthTrying = 0.1;  ///< the least gain for which a candidate is tried
constexpr double kPlausible = 0.6;    ///< a duration below this part of its lower bound shows that the rates are wrong
constexpr std::size_t kOpenings = 3;  ///< so that one disturbance does not cause trials

constexpr double kFirstMargin = 0.03;
constexpr double kMostMargin = 0.25;
constexpr double kMarginShrinks = 0.8;  ///< with each retrial that changes nothing
constexpr double kClearLead = 0.1;  ///< by which the slower one needs no confirmation

/// Whether trials overestimate `other` at least as much as `one`. They do so alike for candidates on all rails, and
/// more for one rail than for several; nothing is known of the incumbent.
bool flattered_alike(const Candidate& one, const Candidate& other) {
  const auto own = [](const Candidate& way) { return way.algorithm != AlgorithmChoice::incumbent; };
  return own(one) && own(other) && (other.one_rail || !one.one_rail);
}

bool of_one_kind(const Candidate& one, const Candidate& other) {
  return flattered_alike(one, other) && flattered_alike(other, one);
}

}  // namespace

SizeClass::SizeClass(std::vector<Candidate> candidates, const Group& tried, bool learn, const Odds& odds)
    : candidates_(std::move(candidates)), odds_(odds), tried_(tried), margin_(kFirstMargin) {
  measured_.fill(kUnknown);
  stage_ = learn && candidates_.size() > 1 ? Stage::settled : Stage::fixed;
  was_settled_ = stage_ == Stage::fixed || tried == Group{};
  if (was_settled_) return;
  if (odds_.least[chosen_] < kOpening)
    begin_search();
  else
    open();
}

/// Opens again while the time of the chosen one is what lets others win, or else tries those of tried_ that can win.
/// The least time counts.
void SizeClass::follow_opening(std::uint64_t before) {
  measured_[chosen_] = std::min(measured_[chosen_], before);
  bool some_may_yet_lose = false;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    some_may_yet_lose = some_may_yet_lose || (tried_[i] && i != chosen_ && odds_.least[i] != 0 && can_win(i));
  if (++openings_ < kOpenings && measured_[chosen_] > odds_.least[chosen_] && some_may_yet_lose)
    open();
  else
    begin_search();
}

void SizeClass::open() {
  Group alone{};
  alone[chosen_] = true;
  begin(Stage::opening, alone);
}

/// Tries those of tried_ that can win.
void SizeClass::begin_search() {
  Group group = tried_;
  for (std::size_t i = 0; i < candidates_.size(); ++i) group[i] = group[i] && can_win(i);
  const auto count = std::count(group.begin(), group.end(), true);
  begin(count > static_cast<std::ptrdiff_t>(kAllCompared) ? Stage::first : Stage::compared, group);
  if (stage_ == Stage::compared && round_.one_burst() && measured_[chosen_] != kUnknown) settle();
}

/// The duration as it is compared. The incumbent has to be faster by a margin, because its calls are not protected.
double SizeClass::handicapped(std::size_t candidate, std::uint64_t duration) const {
  return static_cast<double>(duration) * (is_incumbent(candidate) ? odds_.incumbent_handicap : 1);
}

/// Whether the candidate's lower bound is below the chosen one's time by kWorthTrying. True while either is unknown.
/// If the chosen one is faster than its own bound, as it is where a rate limit's burst or a queue takes a part of the
/// message, the others may be by as much.
bool SizeClass::can_win(std::size_t candidate) const {
  const std::uint64_t least = odds_.least[candidate];
  if (candidate == chosen_ || measured_[chosen_] == kUnknown || least == 0) return true;
  const auto own = static_cast<double>(measured_[chosen_]), own_least = static_cast<double>(odds_.least[chosen_]);
  if (own < kPlausible * own_least) return true;
  return handicapped(candidate, least) < (1 - kWorthTrying) * std::max(own, own_least);
}

Candidate SizeClass::best_of_ours() const {
  if (chosen().algorithm != AlgorithmChoice::incumbent) return chosen();
  std::size_t best = chosen_;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (i != chosen_ && (best == chosen_ || measured_[i] < measured_[best])) best = i;
  return candidates_[best];
}

SizeClass::Group SizeClass::near_best(std::span<const Candidate> ways) const {
  Group group{};
  for (std::size_t way = 0; way < std::min(ways.size(), group.size()); ++way) {
    const auto own = std::find(candidates_.begin(), candidates_.end(), ways[way]);
    const std::uint64_t took =
        own == candidates_.end() ? kUnknown : measured_[static_cast<std::size_t>(own - candidates_.begin())];
    group[way] = took == kUnknown || static_cast<double>(took) < kNearBest * static_cast<double>(measured_[chosen_]);
  }
  return group;
}

const Candidate& SizeClass::next() {
  if (stage_ == Stage::settled && retrials_.due()) begin_retrial();
  const std::size_t carrier = next_carrier();
  if (carrier != carrier_) carries_since_ = calls_;
  carrier_ = carrier;
  ++calls_;
  return candidates_[carrier];
}

std::size_t SizeClass::next_carrier() {
  if (!round_.under_way() || round_.over()) return chosen_;
  const std::size_t candidate = round_.next();
  return excluded_[candidate] ? chosen_ : candidate;
}

void SizeClass::took(std::uint64_t duration) {
  if (!round_.under_way())
    baseline_.took(duration);
  else if (!excluded_[round_.current()])
    round_.took(duration);
}

void SizeClass::recall(const Candidate& candidate, std::uint64_t duration) {
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i] == candidate) measured_[i] = duration;
  set_price();
}

void SizeClass::carry(std::span<const std::uint64_t> bytes) {
  for (std::size_t rail = 0; rail < std::min(bytes.size(), carried_.size()); ++rail) carried_[rail] += bytes[rail];
}

void SizeClass::begin(Stage stage, const Group& members) {
  stage_ = stage;
  Group allowed = members;
  for (std::size_t i = 0; i < allowed.size(); ++i) allowed[i] = allowed[i] && !excluded_[i];
  if (stage == Stage::first)
    round_.begin_singles(allowed);
  else
    round_.begin_bursts(allowed, chosen_, stage != Stage::opening && calls_ == 0);
}

/// Begins half a confirmation for a candidate that is not chosen and has had none. A confirmation that follows one of the same
/// candidate has no untimed calls.
void SizeClass::begin_confirmation(std::size_t candidate) {
  const bool goes_on = stage_ == Stage::confirmation && round_.first() == candidate;
  const std::uint64_t fit = kConfirmingTime / std::max<std::uint64_t>(measured_[candidate], 1);
  const std::size_t half = std::clamp<std::uint64_t>(fit, kFewestConfirming, kMostConfirming);
  const bool brief = candidate != chosen_ && proof_[candidate] == Proof::none && half >= kFewestBrief;
  stage_ = Stage::confirmation;
  proof_[candidate] = brief ? Proof::brief : Proof::full;
  if (brief)
    round_.begin_confirmation(candidate, half / 2, half / 2, odds_.meets_in_confirmations);
  else
    round_.begin_confirmation(candidate, goes_on ? 0 : half, half, odds_.meets_in_confirmations);
}

/// The chosen one, and up to `count` in all that are not slower than `factor` times the fastest.
SizeClass::Group SizeClass::best(std::size_t count, double factor) const {
  Group group{};
  group[chosen_] = true;
  const double limit = rated(fastest()) * factor;
  for (std::size_t chosen = 1; chosen < count; ++chosen) {
    std::size_t found = candidates_.size();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (group[i] || excluded_[i] || measured_[i] == kUnknown || rated(i) > limit) continue;
      if (found == candidates_.size() || rated(i) < rated(found)) found = i;
    }
    if (found == candidates_.size()) break;
    group[found] = true;
  }
  return group;
}

/// The one with the smallest duration, as rated, of those that are not excluded; the chosen one when nothing was
/// measured.
std::size_t SizeClass::fastest() const {
  std::size_t found = chosen_;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!excluded_[i] && (excluded_[found] || rated(i) < rated(found))) found = i;
  return found;
}

void SizeClass::read(std::span<const std::uint64_t, kMostTrials> agreed) {
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (const std::uint64_t median = round_.median(agreed, i); median != kUnknown) measured_[i] = median;
}

bool SizeClass::faster(std::size_t candidate, double margin) const {
  return candidate != chosen_ && measured_[candidate] != kUnknown &&
         (measured_[chosen_] == kUnknown || rated(candidate) < rated(chosen_) * (1 - margin));
}

bool SizeClass::decide(std::span<const std::uint64_t, kMostTrials> agreed) {
  const std::size_t before = chosen_;
  const std::uint64_t time_before = measured_[chosen_];
  if (stage_ == Stage::confirmation) {
    take_confirmation(agreed);
  } else {
    read(agreed);
    proof_.fill(Proof::none);
  }
  if (stage_ == Stage::opening) {
    follow_opening(time_before);
  } else if (stage_ == Stage::first) {
    if (faster(fastest(), 1 - 1 / kFarBehind)) chosen_ = fastest();
    begin(Stage::compared, best(kCompared, kFarBehind));
    if (round_.one_burst()) settle();  // nothing is near
  } else {
    if (stage_ == Stage::compared) follow_a_clear_lead();
    choose_what_is_confirmed();
  }
  if (chosen_ != before) baseline_.set_usual(kUnknown);
  return chosen_ != before;
}

/// Chooses a candidate of the chosen one's kind that is ahead by kClearLead, so that the slower one needs no confirmation;
/// only if that confirmation would take many calls.
void SizeClass::follow_a_clear_lead() {
  std::size_t best = chosen_;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!excluded_[i] && of_one_kind(candidates_[i], candidates_[chosen_]) && measured_[i] < measured_[best]) best = i;
  if (faster(best, kClearLead) && kMostConfirming * measured_[best] < kConfirmingTime) chosen_ = best;
}

/// A confirmation that takes longer than the trial did corrects the trials of similar candidates too, so that each does not
/// need a confirmation. For candidates on all rails only the chosen one's first confirmation does so: in a retrial it may have been
/// overestimated alone.
void SizeClass::take_confirmation(std::span<const std::uint64_t, kMostTrials> agreed) {
  const std::size_t one = round_.first();
  const std::uint64_t trial = measured_[one];
  read(agreed);
  if (trial == kUnknown || measured_[one] <= trial) return;
  if (!candidates_[one].one_rail && (was_settled_ || one != chosen_)) return;
  const double more = static_cast<double>(measured_[one]) / static_cast<double>(std::max<std::uint64_t>(trial, 1));
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (flattered_alike(candidates_[one], candidates_[i]) && proof_[i] == Proof::none && measured_[i] != kUnknown)
      measured_[i] = static_cast<std::uint64_t>(static_cast<double>(measured_[i]) * more);
}

/// A candidate has one confirmation a round at most. A candidate of another kind than the chosen one has its confirmation first,
/// because it mostly falls behind the chosen one's trial at once; if it stays ahead by kClearLead, the first search
/// needs no confirmation of the chosen one. Not so where the first search can confirm the chosen one in kLittle: a way that is
/// cold for longer than its trial lasts would be given up for that.
void SizeClass::choose_what_is_confirmed() {
  std::size_t best = fastest();
  if (!faster(best, margin_)) best = chosen_;
  const bool spares_confirmation = was_settled_ || measured_[chosen_] > kLittle / (2 * kMostConfirming);
  const bool before = best != chosen_ && proof_[chosen_] == Proof::none && spares_confirmation &&
                      !of_one_kind(candidates_[chosen_], candidates_[best]);
  if (before && proof_[best] != Proof::full)
    begin_confirmation(best);
  else if (proof_[chosen_] != Proof::full && !(before && !was_settled_ && faster(best, kClearLead)))
    begin_confirmation(chosen_);
  else if (proof_[best] != Proof::full)
    begin_confirmation(best);
  else
    conclude(best);
}

void SizeClass::conclude(std::size_t best) {
  if (was_settled_) retrials_.ended(best != chosen_);
  if (was_settled_) margin_ = std::clamp(margin_ * (best != chosen_ ? 2 : kMarginShrinks), kFirstMargin, kMostMargin);
  chosen_ = best;
  settle();
}

void SizeClass::settle() {
  stage_ = Stage::settled;
  was_settled_ = true;
  round_.end();
  retrials_.settled();
  baseline_.interrupt();
  set_price();
}

void SizeClass::exclude(AlgorithmChoice algorithm, bool excluded) {
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i].algorithm == algorithm) excluded_[i] = excluded;
  if (excluded_[chosen_]) chosen_ = fastest();
}

const char* name_of(SizeClass::Stage stage) {
  constexpr std::array kNames = {"fixed", "opening", "first", "compared", "settled", "retrial", "confirmation"};
  return kNames[static_cast<std::size_t>(stage)];
}

}  // namespace nezha
