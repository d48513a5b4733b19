// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/share_split.h"

#include <algorithm>

namespace nezha {
namespace {

/// Times that differ by less than this part of the longest one are equal: else noise would move the cuts.
constexpr Nanoseconds kAlike = 16;
/// Of the way to the parts that would have taken equal times: one call says little.
constexpr std::int64_t kStep = 4;
/// No part becomes smaller than this part of all, or it would never be seen that its aggregator is faster again.
constexpr std::int64_t kLeast = 32;
/// Below it a time says nothing. With these two, products of a rate and a sum of weights fit 64 bits.
constexpr Nanoseconds kShortest = 1024;
constexpr std::int64_t kMostWeight = std::int64_t{1} << 18;

}  // namespace

ShareSplit::Cuts ShareSplit::cuts(std::uint32_t whole, const std::array<bool, kMost>& there) const {
  std::int64_t sum = 0, before = 0;
  for (std::size_t i = 0; i < kMost; ++i) sum += there[i] ? weights_[i] : 0;
  Cuts cuts{};
  for (std::size_t i = 0; i < kMost; ++i) {
    before += there[i] ? weights_[i] : 0;
    cuts[i + 1] = sum == 0 ? 0 : static_cast<std::uint32_t>(whole * before / sum);
  }
  return cuts;
}

void ShareSplit::took(const std::array<Nanoseconds, kMost>& times) {
  std::array<std::int64_t, kMost> rates{};
  std::int64_t all = 0, sum = 0;
  Nanoseconds longest = 0, shortest = 0;
  for (std::size_t i = 0; i < kMost; ++i) {
    if (times[i] <= 0) continue;
    rates[i] = (weights_[i] << 20) / std::max(times[i], kShortest);
    all += rates[i];
    sum += weights_[i];
    longest = std::max(longest, times[i]);
    shortest = shortest == 0 ? times[i] : std::min(shortest, times[i]);
  }
  if (longest - shortest < std::max<Nanoseconds>(longest / kAlike, 1) || all == 0) return;
  for (std::size_t i = 0; i < kMost; ++i) {
    if (times[i] <= 0) continue;
    weights_[i] += (rates[i] * sum / all - weights_[i]) / kStep;
    weights_[i] = std::clamp(weights_[i], sum / kLeast, kMostWeight);
  }
}

}  // namespace nezha
