// SPDX-License-Identifier: BSD-3-Clause
/// How fast a lane is thought to be, from how its queue drains.
#include <gtest/gtest.h>

#include <algorithm>

#include "trunk/lane_rate.h"

namespace nezha::test {
namespace {

constexpr double kGigabit = 0.125;  ///< bytes per nanosecond
constexpr std::size_t kBurst = 128 * 1024;
constexpr std::size_t kQueued = 64 * 1024;
constexpr std::size_t kPlenty = 4 * 1024 * 1024;
constexpr Nanoseconds kLook = 100 * kMicrosecond;

class LaneRateTest : public testing::Test {
 protected:
  /// The lane is looked at every 100 us while so many bytes leave at that pace, `burst` more in front of them at once.
  void drain(std::size_t bytes, double pace, std::size_t burst = 0) {
    rate.looked(now, burst, kQueued);
    const auto step = static_cast<std::size_t>(pace * kLook);
    for (std::size_t left = 0; left < bytes; left += step) {
      now += kLook;
      rate.looked(now, step, kQueued);
    }
  }
  /// Small messages, so far apart that each finds the lane empty.
  void trickle(int messages) {
    for (int i = 0; i < messages; ++i) {
      now += kMillisecond;
      rate.looked(now, 1024, 0);
    }
  }
  bool is(double pace) const { return rate.known() > 0.95 * pace && rate.known() < 1.05 * pace; }

  Nanoseconds now = kSecond;
  LaneRate rate;
};

TEST_F(LaneRateTest, IsNotKnownBeforeMuchWasSent) {
  EXPECT_EQ(rate.known(), 0);
  drain(128 * 1024, kGigabit);
  EXPECT_EQ(rate.known(), 0);
}

TEST_F(LaneRateTest, TheBurstOfAShapedLinkDoesNotCount) {
  drain(kPlenty, kGigabit, kBurst);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, ABurstThatComesWithTheFirstAnswersDoesNotCount) {
  rate.looked(now, 1, kQueued);
  drain(kPlenty, kGigabit, kBurst);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, OfASlowLinkItIsOverBeforeMuchHasLeft) {
  rate.looked(now, 1, kQueued);
  drain(64 * 1024, kGigabit / 100, kBurst);
  EXPECT_TRUE(is(kGigabit / 100)) << rate.known();
}

TEST_F(LaneRateTest, TimeInWhichTheQueueWasEmptyDoesNotCount) {
  for (int i = 0; i < 20; ++i) {
    drain(kPlenty, kGigabit, kBurst);
    now += kSecond;
    rate.looked(now, 0, 0);
  }
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, NorThatUntilTheFirstAnswer) {
  rate.looked(now, 0, kQueued);
  now += kSecond;
  drain(kPlenty, kGigabit);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, WhatANewConnectionSendsAtFirstIsNotItsRate) {
  drain(256 * 1024, kGigabit / 10);
  drain(kPlenty, kGigabit);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, FollowsALink) {
  drain(kPlenty, kGigabit);
  drain(kPlenty, kGigabit / 2);
  EXPECT_TRUE(is(kGigabit / 2)) << rate.known();
  drain(kPlenty, kGigabit);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

/// What comes in the burst is too fast: who is slow even so, is slow.
TEST_F(LaneRateTest, AMessageThatTakesLongShowsThatALaneHasBecomeSlow) {
  drain(kPlenty, kGigabit);
  for (int message = 0; message < 40; ++message) {
    rate.idle();
    drain(100 * 1024, kGigabit / 10);
  }
  EXPECT_LT(rate.known(), kGigabit / 4);
}

/// Of a slow lane one or two such answers come in the time in which of a fast one many do.
TEST_F(LaneRateTest, AnswersForMuchAtATimeAreNotTakenForAnotherRate) {
  constexpr double kPace = kGigabit / 5;
  constexpr std::size_t kAnswer = 64 * 1024;
  double least = kGigabit, most = 0;
  rate.looked(now, 1, 4 * kAnswer);
  for (int look = 1; look <= 4000; ++look) {
    now += kLook;
    const auto answered = [&](int looks) { return static_cast<std::size_t>(kPace * static_cast<double>(looks * kLook)) / kAnswer; };
    rate.looked(now, (answered(look) - answered(look - 1)) * kAnswer, 4 * kAnswer);
    if (rate.known() == 0) continue;
    least = std::min(least, rate.known());
    most = std::max(most, rate.known());
  }
  EXPECT_GT(least, 0.9 * kPace);
  EXPECT_LT(most, 1.1 * kPace);
}

TEST_F(LaneRateTest, ALaneThatIsBackHasToEarnItsRate) {
  drain(kPlenty, kGigabit);
  rate.doubt();
  EXPECT_LT(rate.known(), kGigabit / 4);
  drain(kPlenty, kGigabit);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, ALaneThatGoesOftenWhileNothingIsSentIsNotDoubtedMore) {
  drain(kPlenty, kGigabit);
  for (int times = 0; times < 6; ++times) rate.doubt();
  EXPECT_GT(rate.known(), kGigabit / 16);
  trickle(40);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, WithMessagesThatAreTooSmallToMeasureItToo) {
  drain(kPlenty, kGigabit);
  rate.doubt();
  trickle(40);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
}

TEST_F(LaneRateTest, ALaneThatIsBackSlowerEarnsNoMoreThanThat) {
  drain(kPlenty, kGigabit);
  rate.doubt();
  drain(kPlenty, kGigabit / 4);
  trickle(40);
  EXPECT_TRUE(is(kGigabit / 4)) << rate.known();
}

TEST_F(LaneRateTest, WhatComesLateHasASlowerLane) {
  drain(kPlenty, kGigabit);
  now += kSecond;
  rate.late(now, kGigabit);
  EXPECT_TRUE(is(kGigabit / 2)) << rate.known();
  EXPECT_TRUE(rate.slowed());
  EXPECT_FALSE(rate.doubted());
  trickle(40);
  EXPECT_TRUE(is(kGigabit / 2)) << rate.known();
}

TEST_F(LaneRateTest, WhatComesInTimeAfterThatMakesItFastAgain) {
  drain(kPlenty, kGigabit);
  now += kSecond;
  for (int i = 0; i < 6; ++i) rate.late(now, kGigabit);
  for (int i = 0; i < 60; ++i) rate.in_time(now += kMillisecond);
  EXPECT_FALSE(rate.slowed());
  EXPECT_LT(rate.known(), 1.1 * kGigabit);
}

TEST_F(LaneRateTest, WhatWasMeasuredAMomentAgoCountsForMore) {
  drain(kPlenty, kGigabit);
  rate.late(now, kGigabit);
  EXPECT_TRUE(is(kGigabit)) << rate.known();
  drain(kPlenty, kGigabit / 2);
  rate.in_time(now += kMillisecond);
  EXPECT_TRUE(is(kGigabit / 2)) << rate.known();
}

TEST_F(LaneRateTest, OneThatWasNeverMeasuredHasTheRateThatItWasThoughtToHave) {
  rate.late(now, kGigabit);
  EXPECT_TRUE(is(kGigabit / 2)) << rate.known();
}

/// The more often it was late, the more rarely it is tried.
TEST_F(LaneRateTest, WhatIsSlowForGoodIsTriedRarely) {
  drain(kPlenty, kGigabit);
  now += kSecond;
  const unsigned often = rate.rest();
  for (int i = 0; i < 20; ++i) rate.late(now, kGigabit);
  EXPECT_GT(rate.rest(), 32 * often);
  for (int i = 0; i < 200; ++i) rate.in_time(now += kMillisecond);
  EXPECT_EQ(rate.rest(), often);
}

}  // namespace
}  // namespace nezha::test
