// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/table.h"

#include <algorithm>

#include "util/text.h"

namespace nezha {
namespace {

/// Flags of an agreement. Words are combined by MIN, so that one rank's 0 counts.
enum Flag : std::size_t { kCalm, kIncumbentAllowed, kFlags };

/// An agreement costs about 100 us, so it may come once in so many calls, or once in so many bytes.
constexpr std::uint64_t kFirstInterval = 256;
constexpr std::uint64_t kMostInterval = 8192;
constexpr std::size_t kWeighty = 8 * 1024;  ///< bytes that weigh as much as a call
/// From here on time goes with bytes, and is put in proportion to the smallest vector of the class.
constexpr std::size_t kProportional = 32 * 1024;

std::string time_text(std::uint64_t duration) {
  return duration == SizeClass::kUnknown ? "not measured" : std::to_string(duration / kMicrosecond) + " us";
}

}  // namespace

void Table::begin(const Terms& terms) {
  terms_ = terms;
  for (auto& each : classes_) each.reset();
  current_ = over_ = nullptr;
  weight_ = 0;
  interval_ = kFirstInterval;
}

SizeClass& Table::class_of(std::size_t bytes) {
  const std::size_t index = size_class_of(bytes);
  std::unique_ptr<SizeClass>& slot = classes_[index];
  if (!slot) {
    slot = std::make_unique<SizeClass>(candidates(index, terms_), false, terms_.plan.learn);
    if (barred_) slot->bar(AlgorithmChoice::incumbent);
  }
  return *slot;
}

bool Table::agreement_due(std::size_t bytes) {
  if (!terms_.plan.learn || terms_.plan.algorithm != AlgorithmChoice::automatic) return false;
  if (SizeClass* mine = classes_[size_class_of(bytes)].get(); mine != nullptr && mine->round_over()) {
    over_ = mine;
    over_class_ = size_class_of(bytes);
    return true;
  }
  over_ = nullptr;
  return weight_ >= interval_;
}

std::span<std::uint64_t, Table::kWords> Table::words() {
  words_.fill(SizeClass::kUnknown);
  words_[kCalm] = asks_ ? 0 : 1;
  words_[kIncumbentAllowed] = bars_ || barred_ ? 0 : 1;
  if (over_ != nullptr) {
    std::copy(over_->durations().begin(), over_->durations().end(), words_.begin() + kFlags);
  } else {
    for (std::size_t i = 0; i < kSizeClasses; ++i)
      if (classes_[i]) words_[kFlags + i] = classes_[i]->take_level();
  }
  return words_;
}

void Table::apply_flags() {
  if (words_[kIncumbentAllowed] == 0 && !barred_) {
    barred_ = true;
    for (auto& each : classes_)
      if (each) each->bar(AlgorithmChoice::incumbent);
  }
  bars_ = bars_ && !barred_;
  if (words_[kCalm] != 0) return;
  asks_ = false;
  interval_ = kFirstInterval;
  for (auto& each : classes_)
    if (each) each->look_again();
}

bool Table::agreed() {
  const std::span<const std::uint64_t, kWords> words(words_);
  bool decided = false;
  if (over_ != nullptr) {
    changed_ = over_->decide(words.subspan<kFlags, SizeClass::kMostTrials>());
    decided = changed_ || over_->stage() == SizeClass::Stage::settled;
  } else {
    bool calm = true;
    for (std::size_t i = 0; i < kSizeClasses; ++i)
      if (classes_[i] && classes_[i]->follow(words_[kFlags + i])) calm = false;
    interval_ = calm ? std::min(2 * interval_, kMostInterval) : kFirstInterval;
    weight_ = 0;
  }
  apply_flags();
  over_ = nullptr;
  return decided;
}

std::string Table::story() const {
  const SizeClass& one = *classes_[over_class_];
  std::string text = "from " + size_text(static_cast<long long>(std::size_t{1} << over_class_)) + " bytes: " +
                     text_of(one.chosen()) + (changed_ ? ", a new choice" : ", kept") + " after " +
                     std::to_string(one.calls()) + " calls (";
  for (std::size_t i = 0; i < one.candidates().size(); ++i)
    text += (i == 0 ? "" : ", ") + text_of(one.candidates()[i]) + " " + time_text(one.measured(i));
  return text + ")";
}

Candidate Table::next(std::size_t bytes, std::size_t element) {
  current_ = nullptr;
  if (terms_.plan.leaves(bytes, element)) return {};
  if (!terms_.plan.learn || terms_.plan.algorithm != AlgorithmChoice::automatic)
    return {terms_.plan.choose(bytes, element, terms_.ranks)};
  weight_ += 1 + bytes / kWeighty;
  current_ = &class_of(bytes);
  current_bytes_ = bytes;
  current_class_ = size_class_of(bytes);
  return current_->next();
}

void Table::took(Nanoseconds duration) {
  if (current_ == nullptr) return;
  auto time = static_cast<std::uint64_t>(std::max<Nanoseconds>(duration, 0));
  if (current_bytes_ >= kProportional)
    time = static_cast<std::uint64_t>(static_cast<double>(time) * static_cast<double>(std::size_t{1} << current_class_) /
                                      static_cast<double>(current_bytes_));
  current_->took(time);
  current_ = nullptr;
}

}  // namespace nezha
