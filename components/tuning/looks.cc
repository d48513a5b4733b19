// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/looks.h"

#include <algorithm>

namespace nezha {
namespace {

constexpr std::uint64_t kMostPatience = 16384;
constexpr std::uint64_t kPatienceGrows = 4;
constexpr unsigned kLooksAtAll = 4;  ///< the first and every so many looks are at all candidates

/// The calls between two looks take so many times a look's cost: usually, and where one was asked for or the usual time
/// has risen. The second is a limit too, because the time may rise or a rail may come and go again and again.
constexpr std::uint64_t kTimesPaid = 400, kTimesPaidSoon = 25;

constexpr std::uint64_t kDriftRarer = 16;  ///< a rise may bring a look so many times sooner than patience would

}  // namespace

bool Looks::due() {
  const bool due = due_next();
  ++quiet_;
  return due;
}

bool Looks::due_next() const { return quiet_ >= (asked_ ? paid_soon_ : std::max(patience_, paid_)); }

bool Looks::drift_counts() const { return quiet_ >= patience_ / kDriftRarer && quiet_ >= paid_soon_; }

bool Looks::next_at_all() const { return looks_ % kLooksAtAll == 0; }

bool Looks::begin() {
  const bool all = next_at_all() || asked_;
  asked_ = false;
  ++looks_;
  return all;
}

void Looks::ended(bool changed) { patience_ = changed ? kFirstPatience : std::min(patience_ * kPatienceGrows, kMostPatience); }

void Looks::set_price(std::uint64_t call, std::uint64_t next, std::uint64_t all) {
  paid_ = kTimesPaid * next / std::max<std::uint64_t>(call, 1);
  paid_soon_ = kTimesPaidSoon * all / std::max<std::uint64_t>(call, 1);
}

}  // namespace nezha
