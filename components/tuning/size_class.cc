// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/size_class.h"

#include <algorithm>
#include <utility>

namespace nezha {
namespace {

constexpr double kFarBehind = 2.5;  ///< after one call each
constexpr double kBehind = 1.25;    ///< after two more
constexpr double kNear = 1.5;       ///< worth another look
constexpr std::size_t kSorted = 3, kCompared = 2;

constexpr std::uint64_t kFirstPatience = 256;
constexpr std::uint64_t kMostPatience = 16384;
constexpr std::uint64_t kPatienceGrows = 4;
constexpr unsigned kLooksAtAll = 4;  ///< the first and every so many looks are at all candidates

constexpr double kFirstMargin = 0.05;
constexpr double kMostMargin = 0.25;

constexpr std::uint64_t kGroup = 8;  ///< calls whose smallest duration is a level
constexpr double kDrift = 1.3;
constexpr std::uint64_t kDriftRarer = 16;  ///< a drift may bring a look so many times sooner than patience would

}  // namespace

SizeClass::SizeClass(std::vector<Candidate> candidates, bool known, bool learn)
    : candidates_(std::move(candidates)), patience_(kFirstPatience), margin_(kFirstMargin) {
  measured_.fill(kUnknown);
  stage_ = learn && candidates_.size() > 1 ? Stage::settled : Stage::fixed;
  if (stage_ == Stage::fixed || known) return;
  Group all{};
  std::fill_n(all.begin(), candidates_.size(), true);
  if (candidates_.size() > kSorted)
    begin_round(Stage::first, all, 1);
  else
    begin_round(Stage::sorted, all, 2);
}

bool SizeClass::trial_next() const {
  return trials_ != 0 ? at_ < trials_ : stage_ == Stage::settled && quiet_ >= patience_;
}

const Candidate& SizeClass::next() {
  ++calls_;
  if (stage_ == Stage::settled && ++quiet_ > patience_) begin_look(false);
  if (at_ == trials_) return candidates_[chosen_];
  const std::size_t candidate = trial_[at_++];
  return candidates_[barred_[candidate] ? chosen_ : candidate];
}

void SizeClass::took(std::uint64_t duration) {
  if (trials_ != 0) {
    if (!barred_[trial_[at_ - 1]]) durations_[at_ - 1] = duration;
    return;
  }
  group_ = std::min(group_, duration);
  if (++grouped_ < kGroup) return;
  level_ = group_;
  group_ = kUnknown;
  grouped_ = 0;
}

void SizeClass::recall(const Candidate& candidate, std::uint64_t duration) {
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i] == candidate) measured_[i] = duration;
}

void SizeClass::carry(std::span<const std::uint64_t> bytes) {
  for (std::size_t rail = 0; rail < std::min(bytes.size(), carried_.size()); ++rail) carried_[rail] += bytes[rail];
}

/// `calls_each` for every member, forwards and backwards in turn, so that no one always follows the same other.
void SizeClass::begin_round(Stage stage, const Group& members, std::size_t calls_each) {
  stage_ = stage;
  members_ = members;
  durations_.fill(kUnknown);
  at_ = trials_ = 0;
  const auto add = [&](std::size_t candidate) {
    if (members_[candidate] && !barred_[candidate] && trials_ < kMostTrials)
      trial_[trials_++] = static_cast<std::uint8_t>(candidate);
  };
  for (std::size_t pass = 0; pass < calls_each; ++pass)
    for (std::size_t i = 0; i < candidates_.size(); ++i) add(pass % 2 == 0 ? i : candidates_.size() - 1 - i);
}

/// The chosen one, and up to `count` in all that are not slower than `factor` times the fastest.
SizeClass::Group SizeClass::best(std::size_t count, double factor) const {
  Group group{};
  group[chosen_] = true;
  const double limit = static_cast<double>(measured_[fastest(members_)]) * factor;
  for (std::size_t chosen = 1; chosen < count; ++chosen) {
    std::size_t found = candidates_.size();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (group[i] || barred_[i] || measured_[i] == kUnknown || static_cast<double>(measured_[i]) > limit) continue;
      if (found == candidates_.size() || measured_[i] < measured_[found]) found = i;
    }
    if (found == candidates_.size()) break;
    group[found] = true;
  }
  return group;
}

/// The member with the smallest measured duration; the chosen one when nothing was measured.
std::size_t SizeClass::fastest(const Group& members) const {
  std::size_t found = chosen_;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (members[i] && !barred_[i] && measured_[i] < measured_[found]) found = i;
  return found;
}

/// Takes each member's median, the lower of the two middle ones.
void SizeClass::read(std::span<const std::uint64_t, kMostTrials> agreed) {
  for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
    std::array<std::uint64_t, kMostTrials> own;
    std::size_t count = 0;
    for (std::size_t i = 0; i < trials_; ++i)
      if (trial_[i] == candidate && agreed[i] != kUnknown) own[count++] = agreed[i];
    if (count == 0) continue;
    std::sort(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
    measured_[candidate] = own[(count - 1) / 2];
  }
}

bool SizeClass::clearly_faster(std::size_t candidate) const {
  return candidate != chosen_ && measured_[candidate] != kUnknown &&
         (measured_[chosen_] == kUnknown ||
          static_cast<double>(measured_[candidate]) < static_cast<double>(measured_[chosen_]) * (1 - margin_));
}

bool SizeClass::decide(std::span<const std::uint64_t, kMostTrials> agreed) {
  read(agreed);
  const std::size_t before = chosen_;
  const std::size_t found = fastest(members_);
  switch (stage_) {
    case Stage::first:
      if (clearly_faster(found)) chosen_ = found;
      begin_round(Stage::sorted, best(kSorted, kFarBehind), 2);
      break;
    case Stage::sorted:
      if (clearly_faster(found)) chosen_ = found;
      begin_round(Stage::compared, best(kCompared, kBehind), 3);
      if (trials_ <= 3) settle();  // nothing is near
      break;
    case Stage::look:
      challenger_ = found;
      if (!clearly_faster(found)) {
        patience_ = std::min(patience_ * kPatienceGrows, kMostPatience);
        settle();
        break;
      }
      {
        Group two{};
        two[chosen_] = two[challenger_] = true;
        begin_round(Stage::recheck, two, 5);
      }
      break;
    default:
      if (clearly_faster(found)) {
        chosen_ = found;
        if (stage_ == Stage::recheck) margin_ = std::min(2 * margin_, kMostMargin);
        patience_ = kFirstPatience;
      }
      settle();
  }
  if (chosen_ != before) usual_ = kUnknown;
  return chosen_ != before;
}

void SizeClass::settle() {
  stage_ = Stage::settled;
  at_ = trials_ = 0;
  quiet_ = 0;
  level_ = group_ = kUnknown;
  grouped_ = 0;
}

void SizeClass::begin_look(bool all) {
  all = all || looks_++ % kLooksAtAll == 0;
  Group group{};
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    group[i] = all || i == chosen_ || measured_[i] == kUnknown || measured_[chosen_] == kUnknown ||
               static_cast<double>(measured_[i]) < kNear * static_cast<double>(measured_[chosen_]);
  begin_round(Stage::look, group, 2);
  if (trials_ <= 2) settle();  // it is alone
}

void SizeClass::look_again() {
  if (stage_ == Stage::settled) begin_look(true);
}

std::uint64_t SizeClass::take_level() {
  return stage_ == Stage::settled ? std::exchange(level_, kUnknown) : kUnknown;
}

bool SizeClass::follow(std::uint64_t level) {
  if (level == kUnknown || stage_ != Stage::settled) return false;
  const std::uint64_t before = usual_;
  if (before == kUnknown) {
    usual_ = level;
    return false;
  }
  const double change = static_cast<double>(level) / static_cast<double>(std::max<std::uint64_t>(before, 1));
  if (change < kDrift && change > 1 / kDrift) return false;
  if (quiet_ < patience_ / kDriftRarer) return false;  // on a restless machine looks must not follow one another
  usual_ = kUnknown;
  begin_look(true);
  return true;
}

void SizeClass::bar(AlgorithmChoice algorithm) {
  for (std::size_t i = 0; i < candidates_.size(); ++i) barred_[i] = barred_[i] || candidates_[i].algorithm == algorithm;
  if (!barred_[chosen_]) return;
  std::size_t other = 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!barred_[i] && (barred_[other] || measured_[i] < measured_[other])) other = i;
  chosen_ = other;
}

const char* name_of(SizeClass::Stage stage) {
  constexpr std::array kNames = {"fixed", "first", "sorted", "compared", "settled", "look", "recheck"};
  return kNames[static_cast<std::size_t>(stage)];
}

}  // namespace nezha
