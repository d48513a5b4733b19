// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tuning/siblings.h"
#include "util/text.h"

namespace nezha {
namespace {

/// Flags of an agreement: 1 on all ranks, or one rank's 0 counts.
enum Flag : std::size_t { kCalm, kIncumbentAllowed, kFlags };

/// An agreement costs about 100 us, so it may come once in so many calls, or once in so many bytes.
constexpr std::uint64_t kFirstInterval = 256;
constexpr std::uint64_t kMostInterval = 8192;
/// While the incumbent carries calls an agreement comes after so much of them, of which it costs half a per cent.
constexpr std::uint64_t kMostLeft = 16 * kMillisecond;
/// Weight of the calls without a lost lane after which the incumbent is allowed again: seconds of small ones. Each time
/// twice as many, because its calls are not protected.
constexpr std::uint64_t kFirstIdle = 65536;
constexpr std::uint64_t kApart = 2;         ///< times another rank's duration: the application keeps them apart
constexpr std::size_t kWeighty = 8 * 1024;  ///< bytes that weigh as much as a call
/// From here on time goes with bytes, and is put in proportion to the smallest vector of the class.
constexpr std::size_t kProportional = 32 * 1024;

/// The mean over the ranks counts of a trial, before which they have met. The last rank to begin a call ends it first,
/// because all it needs has arrived, and the first rank waits for all: neither duration alone tells how good the
/// candidate is.
std::uint64_t summand(std::uint64_t duration) {
  return duration == SizeClass::kUnknown ? 0 : std::max<std::uint64_t>(duration, 1);
}

std::uint64_t mean(std::uint64_t sum, int ranks) {
  return sum == 0 ? SizeClass::kUnknown : sum / static_cast<std::uint64_t>(ranks);
}

/// The ranks have not met in a confirmation. The least duration and the most (the complement of the least complement) tell
/// whether they began the call apart: then the duration is the application's, and is not used.
std::uint64_t complement(std::uint64_t duration) {
  return duration == SizeClass::kUnknown ? SizeClass::kUnknown : ~duration;
}

/// The slowest rank's duration counts of a call with a root, because a root that sends ends long before the last rank
/// has its bytes, and one that receives long after the first rank has sent them. The ranks have met, in confirmations too.
std::uint64_t most(std::uint64_t least_complement) {
  return least_complement == SizeClass::kUnknown ? SizeClass::kUnknown : ~least_complement;
}

std::uint64_t middle(std::uint64_t least, std::uint64_t least_complement) {
  const std::uint64_t most = ~least_complement;
  return least == SizeClass::kUnknown || least < most / kApart ? SizeClass::kUnknown : least / 2 + most / 2;
}

std::string time_text(std::uint64_t duration) {
  return duration == SizeClass::kUnknown ? "not measured" : std::to_string(duration / kMicrosecond) + " us";
}

}  // namespace

void Table::begin(const Terms& terms) {
  terms_ = terms;
  for (auto& each : classes_) each.reset();
  current_ = over_ = nullptr;
  met_ = asks_ = false;  // but not asks_to_exclude_: the incumbent may run over a lane that was lost in wiring, too
  weight_ = left_ = idle_ = 0;
  interval_ = kFirstInterval;
  idle_needed_ = kFirstIdle;
}

void Table::make_class(std::size_t index, std::vector<Candidate> ways, const SizeClass::Group& tried) {
  SizeClass::Odds odds;
  for (std::size_t i = 0; i < ways.size(); ++i) odds.least[i] = least_time(ways[i], index, terms_);
  // Within a node no network can be lost, so that the incumbent is as safe as we are.
  odds.incumbent_at_risk = !terms_.within_node();
  if (odds.incumbent_at_risk) odds.incumbent_handicap = 1 + static_cast<double>(terms_.plan.incumbent_margin) / 100;
  odds.meets_in_confirmations = has_root(terms_.collective);
  classes_[index] = std::make_unique<SizeClass>(std::move(ways), tried, terms_.plan.learn, odds);
  if (excluded_) classes_[index]->exclude(AlgorithmChoice::incumbent, true);
}

/// Whether it is known what is fastest at the size beside.
bool Table::settled_beside(std::size_t neighbour) const {
  return neighbour < kSizeClasses && classes_[neighbour] && classes_[neighbour]->was_settled();
}

/// What was found fastest at half or at twice the size is a better guess than the plan's.
void Table::begin_with_neighbours(std::size_t index, std::vector<Candidate>& ways) const {
  for (const std::size_t neighbour : {index + 1, index - 1}) {
    if (!settled_beside(neighbour)) continue;
    const auto same = std::find(ways.begin(), ways.end(), classes_[neighbour]->chosen());
    if (same != ways.end()) std::rotate(ways.begin(), same, same + 1);
  }
}

/// What is far behind at half and at twice the size need not be tried at once. The first retrial, which is of all, puts it
/// right where that was wrong.
SizeClass::Group Table::near_best(std::size_t index, std::span<const Candidate> ways) const {
  SizeClass::Group group{};
  for (const std::size_t neighbour : {index - 1, index + 1}) {
    if (!settled_beside(neighbour)) continue;
    const SizeClass::Group there = classes_[neighbour]->near_best(ways);
    std::transform(group.begin(), group.end(), there.begin(), group.begin(), std::logical_or<>());
  }
  if (group == SizeClass::Group{}) std::fill_n(group.begin(), ways.size(), true);
  return group;
}

SizeClass& Table::class_of(std::size_t bytes) {
  const std::size_t index = size_class_of(bytes);
  if (!classes_[index]) {
    std::vector<Candidate> ways = candidates(index, terms_);
    begin_with_neighbours(index, ways);
    const SizeClass::Group tried = near_best(index, ways);
    make_class(index, std::move(ways), tried);
  }
  return *classes_[index];
}

Table::Recalled Table::recall(std::span<const std::uint64_t> rows) {
  Recalled recalled;
  for (std::size_t index = 0; index < kSizeClasses && chooses(); ++index) {
    const std::optional<Known> known = known_of(rows, index);
    if (!known) continue;
    if (!possible(known->chosen, index, terms_)) {
      if (recalled.left_out++ == 0) recalled.example = text_of(known->chosen, rails_, index);
      continue;
    }
    std::vector<Candidate> ways{known->chosen};
    for (const Candidate& way : candidates(index, terms_))
      if (way != known->chosen && ways.size() < kMostCandidates) ways.push_back(way);
    make_class(index, std::move(ways), {});
    for (const Measured& measured : known->measured) classes_[index]->recall(measured.way, measured.time);
    ++recalled.classes;
  }
  return recalled;
}

/// What carries a call of which nothing was measured; the incumbent also where it is left to that whatever is measured.
AlgorithmChoice Table::unmeasured(std::size_t bytes, std::size_t element) const {
  if (terms_.collective != Collective::allreduce)
    return sibling_choice(terms_.plan, terms_.collective, bytes, element, terms_.senders());
  return terms_.plan.choose(bytes, element, terms_.senders());
}

bool Table::learns(std::size_t bytes, std::size_t element) const {
  return terms_.plan.learn && chooses() && !leaves(bytes, element);
}

void Table::learn_rates(double rate, double best_rail) {
  terms_.rate = rate;
  terms_.best_rail = best_rail;
  retry();  // what was measured until now was shared out otherwise
}

void Table::retry() {
  for (auto& each : classes_)
    if (each) each->retry();
}

bool Table::agreement_due(std::size_t bytes, std::size_t element) {
  if (!learns(bytes, element)) return false;
  SizeClass& mine = class_of(bytes);
  if (mine.round_over()) {
    about_ = mine.stage() == SizeClass::Stage::confirmation ? About::confirmation : About::trials;
    over_ = &mine;
    over_class_ = size_class_of(bytes);
    return true;
  }
  about_ = weight_ >= interval_ ? About::baselines : About::meeting;
  // A confirmation is short, and the same for all candidates: without meetings, or with one before each call.
  const bool left_alone = left_ >= kMostLeft && mine.stage() != SizeClass::Stage::confirmation;
  return about_ == About::baselines || (!met_ && (mine.meets_next() || left_alone));
}

std::span<std::uint64_t, Table::kWords> Table::words() {
  words_.fill(SizeClass::kUnknown);
  words_[kCalm] = asks_ ? 0 : 1;
  words_[kIncumbentAllowed] = asks_to_exclude_ ? 0 : 1;
  const auto first = words_.begin() + kFlags, second = first + SizeClass::kMostTrials;
  if (has_root(terms_.collective) && (about_ == About::trials || about_ == About::confirmation)) {
    std::transform(over_->durations().begin(), over_->durations().end(), first, complement);
  } else if (about_ == About::trials) {
    std::fill(first, words_.end(), 0);
    std::transform(over_->durations().begin(), over_->durations().end(), first, summand);
  } else if (about_ == About::confirmation) {
    std::copy(over_->durations().begin(), over_->durations().end(), first);
    std::transform(over_->durations().begin(), over_->durations().end(), second, complement);
  } else if (about_ == About::baselines) {
    for (std::size_t i = 0; i < kSizeClasses; ++i)
      if (classes_[i]) words_[kFlags + i] = baseline_word(classes_[i]->take_baseline());
  }
  return words_;
}

/// The least of the ranks' baselines counts, that of the last to begin, or of calls with a root the most.
std::uint64_t Table::baseline_word(std::uint64_t baseline) const {
  return has_root(terms_.collective) ? complement(baseline) : baseline;
}

std::uint64_t Table::baseline_of(std::uint64_t agreed) const {
  return has_root(terms_.collective) ? most(agreed) : agreed;
}

bool Table::all_say(std::size_t flag) const {
  return words_[flag] == (adds() ? static_cast<std::uint64_t>(terms_.ranks) : 1);
}

void Table::exclude_incumbent(bool excluded) {
  excluded_ = excluded;
  for (auto& each : classes_)
    if (each) each->exclude(AlgorithmChoice::incumbent, excluded);
}

/// A lane that this rank has lost since words(), where all allowed the incumbent, is for the next agreement.
void Table::follow_exclusions(bool allowed) {
  if (!allowed) {
    asks_to_exclude_ = false;
    idle_ = 0;
    exclude_incumbent(true);
  } else if (excluded_ && idle_ >= idle_needed_ && !terms_.incumbent_on_rails) {
    idle_needed_ *= 2;
    exclude_incumbent(false);
    retry();
  }
}

void Table::apply_flags() {
  follow_exclusions(all_say(kIncumbentAllowed));
  if (all_say(kCalm)) return;
  asks_ = false;
  interval_ = kFirstInterval;
  retry();
}

bool Table::agreed() {
  bool decided = false;
  if (about_ == About::trials || about_ == About::confirmation) {
    const auto durations = std::span(words_).subspan<kFlags, SizeClass::kMostTrials>();
    const auto complements = std::span(words_).subspan<kFlags + SizeClass::kMostTrials, SizeClass::kMostTrials>();
    for (std::size_t i = 0; i < durations.size(); ++i)
      durations[i] = has_root(terms_.collective) ? most(durations[i])
                     : adds()                    ? mean(durations[i], terms_.ranks)
                                                 : middle(durations[i], complements[i]);
    changed_ = over_->decide(durations);
    decided = changed_ || over_->stage() == SizeClass::Stage::settled;
  } else if (about_ == About::baselines) {
    bool calm = true;
    for (std::size_t i = 0; i < kSizeClasses; ++i)
      if (classes_[i] && classes_[i]->follow(baseline_of(words_[kFlags + i]))) calm = false;
    interval_ = calm ? std::min(2 * interval_, kMostInterval) : kFirstInterval;
    idle_ += std::exchange(weight_, 0);
  }
  apply_flags();
  left_ = 0;
  met_ = true;
  return decided;
}

std::string Table::story() const {
  const SizeClass& one = *classes_[over_class_];
  std::string text = "from " + size_text(static_cast<long long>(std::size_t{1} << over_class_)) +
                     " bytes: " + text_of(one.chosen(), rails_) + (changed_ ? ", a new choice" : ", kept") +
                     (one.stage() == SizeClass::Stage::settled
                          ? ", found after " + std::to_string(one.found_after()) + ", settled after "
                          : " after ") +
                     std::to_string(one.calls()) + " calls (";
  for (std::size_t i = 0; i < one.candidates().size(); ++i)
    text += (i == 0 ? "" : ", ") + text_of(one.candidates()[i], rails_) + " " + time_text(one.measured(i));
  return text + ")";
}

Candidate Table::next(std::size_t bytes, std::size_t element) {
  current_ = nullptr;
  met_ = false;
  const Candidate first{unmeasured(bytes, element)};
  if (first.algorithm == AlgorithmChoice::incumbent || !chooses()) return first;
  if (!terms_.plan.learn && !classes_[size_class_of(bytes)]) return first;
  weight_ += 1 + bytes / kWeighty;
  current_ = &class_of(bytes);
  current_bytes_ = bytes;
  current_class_ = size_class_of(bytes);
  const Candidate way = current_->next();
  left_ += current_->left_to_incumbent();
  return way;
}

Candidate Table::next_untimed(std::size_t bytes, std::size_t element) const {
  const Candidate first{unmeasured(bytes, element)};
  const SizeClass* known = chooses() ? classes_[size_class_of(bytes)].get() : nullptr;
  if (first.algorithm == AlgorithmChoice::incumbent || known == nullptr) return first;
  const Candidate way = known->best_of_ours();
  return way.algorithm != AlgorithmChoice::incumbent ? way : first;
}

void Table::took(Nanoseconds duration, std::span<const std::uint64_t> carried) {
  if (current_ == nullptr) return;
  current_->carry(carried);
  auto time = static_cast<std::uint64_t>(std::max<Nanoseconds>(duration, 0));
  if (current_bytes_ >= kProportional)
    time =
        static_cast<std::uint64_t>(static_cast<double>(time) * static_cast<double>(std::size_t{1} << current_class_) /
                                   static_cast<double>(current_bytes_));
  current_->took(time);
  current_ = nullptr;
}

}  // namespace nezha
