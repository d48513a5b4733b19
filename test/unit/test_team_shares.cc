// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/team_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace nezha {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 22;
constexpr std::uint32_t kStep = ShareSearches::kWhole / ShareSearch::kSteps;

/// Ranks that call alike.
class Ranks : public testing::Test {
 protected:
  /// `time`: of a rank's call at that share, in steps. Whether they combine words. Rank 3 is in no group.
  bool call(const std::function<Nanoseconds(std::size_t rank, std::uint32_t share)>& time) {
    std::array<std::uint64_t, 3> most{};
    std::size_t due = 0;
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      TeamShares& own = all_[rank];
      if (!own.wanted(kBytes)) continue;
      const std::uint32_t share = own.share(kBytes) / kStep;
      if (!own.due(kBytes)) continue;
      ++due;
      const auto words = own.words(time(rank, share), reached_ && rank != 3, rank == 0 ? changes_ : 0);
      std::transform(words.begin(), words.end(), most.begin(), most.begin(), [](auto a, auto b) { return std::max(a, b); });
    }
    EXPECT_TRUE(due == 0 || due == all_.size());
    for (TeamShares& own : all_) {
      if (due == 0) break;
      std::copy(most.begin(), most.end(), own.words(0, false, 0).begin());
      own.combined(kBytes);
      EXPECT_EQ(own.share(kBytes), all_[0].share(kBytes));
    }
    return due != 0;
  }
  int words(int calls, const std::function<Nanoseconds(std::size_t rank, std::uint32_t share)>& time) {
    int words = 0;
    for (int i = 0; i < calls; ++i) words += call(time) ? 1 : 0;
    return words;
  }

  bool reached_ = true;
  std::uint64_t changes_ = 0;
  std::vector<TeamShares> all_ = std::vector<TeamShares>(4, TeamShares(AggregatorShare{AggregatorShare::kAuto}));
};

/// Those who came early had a longer time.
TEST_F(Ranks, FindOneShareTogether) {
  const auto time = [](std::size_t rank, std::uint32_t share) {
    return (100 - share) * kMillisecond + static_cast<Nanoseconds>(rank) * 50 * kMillisecond;
  };
  EXPECT_LT(words(60, time), 40);
  EXPECT_EQ(all_[3].share(kBytes), ShareSearches::kWhole);
  EXPECT_LE(words(128, time), 2);
}

TEST_F(Ranks, LookEverMoreRarelyForAggregatorsThatNobodyReaches) {
  const auto same = [](std::size_t, std::uint32_t) { return kMillisecond; };
  reached_ = false;
  EXPECT_LE(words(256, same), 9);
  EXPECT_LE(words(2560, same), 11);
}

TEST_F(Ranks, LookAgainAfterSomeCalls) {
  const auto slower = [](std::size_t, std::uint32_t share) { return (100 + share) * kMillisecond; };
  words(60, slower);
  for (TeamShares& own : all_) EXPECT_FALSE(own.wanted(kBytes));
  EXPECT_GT(words(static_cast<int>(ShareSearch::kRetry) + 80, slower), 2);
}

/// Of one group, which the others hear of.
TEST_F(Ranks, LookAgainWhereAggregatorsHaveComeOrGone) {
  double center = 4;
  const auto time = [&](std::size_t, std::uint32_t share) {
    const double part = static_cast<double>(share) / ShareSearch::kSteps;
    return static_cast<Nanoseconds>(1e6 * std::max((1 - part) * 1.5 + part, part * 4 / center));
  };
  words(60, time);
  ASSERT_EQ(all_[0].share(kBytes), ShareSearches::kWhole);
  center = 1;
  words(200, time);
  EXPECT_EQ(all_[0].share(kBytes), ShareSearches::kWhole);
  ++changes_;
  words(200, time);
  EXPECT_NEAR(all_[0].share(kBytes), ShareSearches::kWhole / 3, 2 * kStep);
}

}  // namespace
}  // namespace nezha
