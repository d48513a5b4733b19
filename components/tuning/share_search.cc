// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/share_search.h"

#include <algorithm>
#include <bit>

namespace nezha {
namespace {

/// A share is better only by so much; else noise would decide.
constexpr double kClearly = 0.985;

}  // namespace

void ShareSearch::took(Nanoseconds time) {
  if (settled_) {
    if (++quiet_ >= kLookAgain) look_again();
    return;
  }
  if (calls_++ == 0) return;
  least_ = calls_ == 2 ? time : std::min(least_, time);
  if (calls_ == kBurst) judge();
}

bool ShareSearch::idle() {
  if (!settled_ || best_ != 0) return false;
  if (++quiet_ >= kLookAgain) look_again();
  return settled_;
}

void ShareSearch::judge() {
  calls_ = 0;
  const bool better =
      best_time_ == 0 || static_cast<double>(least_) < kClearly * static_cast<double>(best_time_);
  if (tried_ == best_) {
    best_time_ = least_;
  } else if (better) {
    best_ = tried_;
    best_time_ = least_;
    other_side_ = false;  // further the same way
  } else if (!other_side_) {
    up_ = !up_;
    other_side_ = true;
  } else {
    step_ /= 2;
    other_side_ = false;
  }
  go_on();
}

/// The next share that can be tried; where there is none it is settled.
void ShareSearch::go_on() {
  while (step_ != 0) {
    const bool room = up_ ? best_ + step_ <= kSteps : best_ >= step_;
    if (room) {
      tried_ = up_ ? best_ + step_ : best_ - step_;
      return;
    }
    if (!other_side_) {
      up_ = !up_;
      other_side_ = true;
    } else {
      step_ /= 2;
      other_side_ = false;
    }
  }
  settled_ = true;
  quiet_ = 0;
}

void ShareSearch::look_again() {
  settled_ = false;
  step_ = kSteps / 8;
  other_side_ = false;
  tried_ = best_;
  best_time_ = 0;
  calls_ = 0;
}

std::size_t ShareSearches::index(std::size_t bytes) { return static_cast<std::size_t>(std::bit_width(bytes)) % kClasses; }

}  // namespace nezha
