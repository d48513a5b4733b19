// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tuning/share_search.h"

namespace nezha {
namespace {

constexpr std::uint32_t kWhole = ShareSearch::kSteps;

/// A call of `ranks` whose links together, and the aggregator's, have these rates: the slower way takes as long as the call.
Nanoseconds time_of(std::uint32_t steps, int ranks, double rate, double center) {
  const double part = static_cast<double>(steps) / kWhole;
  const double rails = ((1 - part) * 2 * (ranks - 1) / ranks + part) / rate;
  return static_cast<Nanoseconds>(1e6 * std::max(rails, part * ranks / center));
}

struct Found {
  std::uint32_t share = 0;
  int calls = 0;
  double cost = 0;  ///< of all calls on the way, in times of a call over the rails alone
};

Found search(double rate, double center, ShareSearch one = {}) {
  Found found;
  const double alone = static_cast<double>(time_of(0, 4, rate, center));
  while (!one.settled() && found.calls < 1000) {
    const Nanoseconds took = time_of(one.next(), 4, rate, center);
    one.took(took);
    ++found.calls;
    found.cost += static_cast<double>(took) / alone;
  }
  found.share = one.next();
  return found;
}

TEST(ShareSearch, AFastAggregatorGetsAll) {
  const Found found = search(1, 4);
  EXPECT_EQ(found.share, kWhole);
  EXPECT_LE(found.calls, 40);
  EXPECT_LT(found.cost, found.calls);
}

TEST(ShareSearch, OneAsFastAsANodeGetsWhatPays) {
  const Found found = search(1, 1);
  EXPECT_NEAR(found.share, kWhole / 3, 1);
  EXPECT_LE(found.calls, 48);
  EXPECT_LT(found.cost, 1.05 * found.calls);  // looking costs next to nothing
}

/// Two ways at once cost something too, so that a little through the other one brings nothing.
TEST(ShareSearch, StepsThatShowNothingAreFollowedByLargerOnes) {
  ShareSearch one;
  const auto time = [](std::uint32_t steps) { return std::min(time_of(0, 4, 1, 4), time_of(steps, 4, 1, 4) * 12 / 10); };
  ASSERT_EQ(time(2 * one.next()), time(one.next()));
  int calls = 0;
  for (; calls < 60 && !one.settled(); ++calls) one.took(time(one.next()));
  EXPECT_TRUE(one.settled());
  EXPECT_EQ(one.next(), kWhole);
}

TEST(ShareSearch, WhereNothingShowsNothingIsSent) {
  ShareSearch one;
  int calls = 0;
  for (; calls < 80 && !one.settled(); ++calls) one.took(kMillisecond);
  EXPECT_TRUE(one.settled());
  EXPECT_EQ(one.next(), 0U);
}

/// As links do that let more through after a pause.
TEST(ShareSearch, OneGoodCallDoesNotCount) {
  ShareSearch one;
  for (int call = 0; call < 100 && !one.settled(); ++call) {
    const bool lucky = call % 4 == 1;
    one.took(lucky ? time_of(one.next(), 4, 1, 4) : time_of(one.next(), 4, 1, 0.05));
  }
  EXPECT_EQ(one.next(), 0u);
}

/// Four ranks with two rails beside the aggregator's network, all of one rate: the best share is 3/7. A sixteenth beside it a call
/// takes 10 % longer.
TEST(ShareSearch, ANetworkOfItsOwnIsFilled) {
  ShareSearch one;
  const auto time = [](std::uint32_t steps) {
    const double part = static_cast<double>(steps) / kWhole;
    return static_cast<Nanoseconds>(1e6 * std::max((1 - part) * 1.5 / 2, part));
  };
  for (int call = 0; call < 60 && !one.settled(); ++call) one.took(time(one.next()));
  EXPECT_TRUE(one.settled());
  EXPECT_LT(static_cast<double>(time(one.next())), 1.02e6 * 3 / 7);
}

TEST(ShareSearch, OneThatIsNoGoodGetsNothing) {
  const Found found = search(1, 0.05);
  EXPECT_EQ(found.share, 0u);
  EXPECT_LE(found.calls, 20);
}

TEST(ShareSearch, SizesBesideASettledOneBeginWithItsShare) {
  ShareSearches searches;
  const std::size_t bytes = std::size_t{1} << 20;
  for (int i = 0; i < 100 && searches.share(bytes) != 65536; ++i)
    searches.took(bytes, time_of(searches.share(bytes) * kWhole / 65536, 4, 1, 4));
  EXPECT_LT(searches.share(2 * bytes), 65536u);  // not settled yet
  for (int i = 0; i < 100; ++i) searches.took(bytes, time_of(searches.share(bytes) * kWhole / 65536, 4, 1, 4));
  EXPECT_EQ(searches.share(2 * bytes), 65536u);
  EXPECT_EQ(searches.share(bytes / 2), 65536u);
  EXPECT_LT(searches.share(16 * bytes), 65536u);
}

/// Not before there is a reason.
TEST(ShareSearch, LooksAgainWhereAggregatorsHaveComeOrGone) {
  ShareSearches searches;
  const std::size_t bytes = std::size_t{1} << 20;
  const auto found = [&](double center) {
    for (int i = 0; i < 100; ++i) searches.took(bytes, time_of(searches.share(bytes) * kWhole / 65536, 4, 1, center));
    return searches.share(bytes) * kWhole / 65536;
  };
  const std::uint32_t before = found(1);
  ASSERT_NEAR(before, kWhole / 3, 1);
  EXPECT_EQ(found(4), before);
  searches.retry();
  EXPECT_EQ(found(4), kWhole);
}

}  // namespace
}  // namespace nezha
