// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/share_search.h"

#include <algorithm>
#include <bit>

namespace nezha {
namespace {

/// A share is better only by so much; else noise would decide. What steps below a sixteenth of the vector gain is less.
constexpr double kClearly = 0.985, kClearlyFine = 0.9925;
constexpr std::uint32_t kFine = ShareSearch::kSteps / 16;
/// One call so much slower than the best share's ends a burst.
constexpr double kFarBehind = 1.5;

}  // namespace

void ShareSearch::begin_with(const ShareSearch& settled) {
  best_ = tried_ = settled.best_;
  growing_ = false;
}

void ShareSearch::took(Nanoseconds time) {
  if (settled_) {
    if (++quiet_ >= kRetry) retry();
    return;
  }
  if (calls_++ == 0) return;
  times_[calls_ - 2] = time;
  if (calls_ == kBurst) return judge(median());
  const bool hopeless = tried_ != best_ && static_cast<double>(time) > kFarBehind * static_cast<double>(best_time_);
  if (calls_ == 2 && hopeless) judge(time);
}

bool ShareSearch::idle() {
  if (!settled_ || best_ != 0) return false;
  if (++quiet_ >= kRetry) retry();
  return settled_;
}

Nanoseconds ShareSearch::median() const {
  auto sorted = times_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void ShareSearch::judge(Nanoseconds time) {
  calls_ = 0;
  const double clearly = step_ < kFine ? kClearlyFine : kClearly;
  const bool better = best_time_ == 0 || (tried_ == 0 ? kClearly * static_cast<double>(time) < static_cast<double>(best_time_)
                                                      : static_cast<double>(time) < clearly * static_cast<double>(best_time_));
  none_judged_ = none_judged_ || tried_ == 0;
  if (tried_ == best_) {
    best_time_ = time;
  } else if (better) {
    none_judged_ = none_judged_ || tried_ > best_;
    best_ = tried_;
    best_time_ = time;
    other_side_ = true;  // further the same way
    if (growing_) step_ *= 2;
    unclear_ = false;
  } else if (growing_ && static_cast<double>(time) * clearly < static_cast<double>(best_time_) && best_ + 2 * step_ <= kSteps) {
    step_ *= 2;
    unclear_ = true;
  } else {
    if (growing_ && unclear_) step_ = kFirst;
    growing_ = false;
    turn();
  }
  go_on();
}

/// To the other side, or to smaller steps.
void ShareSearch::turn() {
  if (other_side_)
    step_ /= 2;
  else
    up_ = !up_;
  other_side_ = !other_side_;
}

/// The next share that can be tried; where there is none it is settled.
void ShareSearch::go_on() {
  while (step_ != 0) {
    const bool room = up_ ? best_ + step_ <= kSteps : best_ >= step_;
    if (room) {
      tried_ = up_ ? best_ + step_ : best_ - step_;
      return;
    }
    growing_ = false;
    turn();
  }
  if (!none_judged_ && best_ != 0) {
    none_judged_ = true;
    tried_ = 0;
    return;
  }
  settled_ = true;
  quiet_ = 0;
}

void ShareSearch::retry() {
  if (!settled_ && best_time_ == 0) return;  // nothing is known yet
  settled_ = false;
  step_ = kSteps / 8;
  other_side_ = false;
  tried_ = best_;
  best_time_ = 0;
  none_judged_ = false;
  calls_ = 0;
}

std::uint32_t ShareSearches::share(std::size_t bytes) const {
  if (searches()) return begun(bytes).next() * (kWhole / ShareSearch::kSteps);
  return static_cast<std::uint32_t>(wanted_.per_cent) * kWhole / 100;
}

ShareSearch ShareSearches::begun(std::size_t bytes) const {
  const std::size_t own = index(bytes);
  ShareSearch found = classes_[own];
  for (const std::size_t beside : {own - 1, own + 1})
    if (found.fresh() && beside < kClasses && classes_[beside].settled()) found.begin_with(classes_[beside]);
  return found;
}

std::size_t ShareSearches::index(std::size_t bytes) { return static_cast<std::size_t>(std::bit_width(bytes)) % kClasses; }

}  // namespace nezha
