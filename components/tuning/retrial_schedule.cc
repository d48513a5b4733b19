// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/retrial_schedule.h"

#include <algorithm>

namespace nezha {
namespace {

constexpr std::uint64_t kMostPatience = 16384;
constexpr std::uint64_t kPatienceGrows = 4;
constexpr unsigned kOfAll = 4;  ///< the first and every so many retrials are of all candidates

/// The calls between two retrials take so many times a retrial's cost: usually, and where one was asked for or the usual time
/// has risen. The second is a limit too, because the time may rise or a rail may come and go again and again.
constexpr std::uint64_t kTimesPaid = 400, kTimesPaidSoon = 25;

constexpr std::uint64_t kDriftRarer = 16;  ///< a rise may bring a retrial so many times sooner than patience would

}  // namespace

bool RetrialSchedule::due() {
  const bool due = due_next();
  ++quiet_;
  return due;
}

bool RetrialSchedule::due_next() const { return quiet_ >= (asked_ ? paid_soon_ : std::max(patience_, paid_)); }

bool RetrialSchedule::drift_counts() const { return quiet_ >= patience_ / kDriftRarer && quiet_ >= paid_soon_; }

bool RetrialSchedule::next_at_all() const { return retrials_ % kOfAll == 0; }

bool RetrialSchedule::begin() {
  const bool all = next_at_all() || asked_;
  asked_ = false;
  ++retrials_;
  return all;
}

void RetrialSchedule::ended(bool changed) { patience_ = changed ? kFirstPatience : std::min(patience_ * kPatienceGrows, kMostPatience); }

void RetrialSchedule::set_price(std::uint64_t call, std::uint64_t next, std::uint64_t all) {
  paid_ = kTimesPaid * next / std::max<std::uint64_t>(call, 1);
  paid_soon_ = kTimesPaidSoon * all / std::max<std::uint64_t>(call, 1);
}

}  // namespace nezha
