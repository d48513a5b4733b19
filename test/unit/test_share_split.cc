// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>

#include "tuning/share_split.h"

namespace nezha {
namespace {

using There = std::array<bool, ShareSplit::kMost>;

std::uint32_t part(const ShareSplit::Cuts& cuts, std::size_t i) { return cuts[i + 1] - cuts[i]; }

TEST(ShareSplit, BeginsWithEqualPartsOfThoseThatAreThere) {
  const ShareSplit split;
  const ShareSplit::Cuts two = split.cuts(60000, There{false, true, false, true});
  EXPECT_EQ(two, (ShareSplit::Cuts{0, 0, 30000, 30000, 60000}));
  EXPECT_EQ(split.cuts(60000, There{true}), (ShareSplit::Cuts{0, 60000, 60000, 60000, 60000}));
  EXPECT_EQ(split.cuts(60000, There{}), ShareSplit::Cuts{});
}

TEST(ShareSplit, FollowsTheRates) {
  ShareSplit split;
  const There there{true, true};
  for (int call = 0; call < 40; ++call) {
    const ShareSplit::Cuts cuts = split.cuts(65536, there);
    split.took({100 * Nanoseconds{part(cuts, 0)} / 3, 100 * Nanoseconds{part(cuts, 1)}});
  }
  EXPECT_NEAR(part(split.cuts(65536, there), 0), 49152, 65536 / 32);
}

TEST(ShareSplit, KeepsPartsThatTakeAboutAsLong) {
  ShareSplit split;
  const There there{true, true, true};
  const ShareSplit::Cuts before = split.cuts(65536, there);
  split.took({1000000, 1050000, 1000000});
  EXPECT_EQ(split.cuts(65536, there), before);
  split.took({1000000, 2000000, 1000000});
  EXPECT_LT(part(split.cuts(65536, there), 1), part(before, 1));
}

/// However slow one is, and for how long: it keeps a part by which it shows that it is fast again.
TEST(ShareSplit, LeavesEveryOneSomething) {
  ShareSplit split;
  const There there{true, true};
  for (int call = 0; call < 1000; ++call) split.took({kSecond, 1});
  const std::uint32_t least = part(split.cuts(65536, there), 0);
  EXPECT_GT(least, 65536U / 64);
  for (int call = 0; call < 40; ++call) {
    const ShareSplit::Cuts cuts = split.cuts(65536, there);
    split.took({100 * Nanoseconds{part(cuts, 0)}, 100 * Nanoseconds{part(cuts, 1)}});
  }
  EXPECT_NEAR(part(split.cuts(65536, there), 0), 32768, 65536 / 16);
}

}  // namespace
}  // namespace nezha
