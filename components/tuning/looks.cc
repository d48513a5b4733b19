// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/looks.h"

#include <algorithm>

namespace nezha {
namespace {

constexpr std::uint64_t kMostPatience = 16384;
constexpr std::uint64_t kPatienceGrows = 4;
constexpr unsigned kLooksAtAll = 4;  ///< the first and every so many looks are at all candidates

/// A look is paid for by so many times what it costs: usually, and where there is a reason to look, as a level that has
/// drifted; on a restless machine, or where a rail comes and goes, looks must not follow one another either.
constexpr std::uint64_t kTimesPaid = 400, kTimesPaidSoon = 25;

constexpr std::uint64_t kDriftRarer = 16;  ///< a drift may bring a look so many times sooner than patience would

}  // namespace

bool Looks::due() { return ++quiet_ > (asked_ ? paid_soon_ : std::max(patience_, paid_)); }

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
