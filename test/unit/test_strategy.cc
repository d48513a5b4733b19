// SPDX-License-Identifier: BSD-3-Clause
/// Which lane takes the next bytes, and whether it is better to wait for one.
#include <algorithm>
#include <array>

#include "trunk/lane_limits.h"
#include "trunk/strategy.h"
#include "trunk_pair.h"

namespace nezha::test {
namespace {

constexpr std::size_t kMuch = 1024 * 1024;
constexpr std::size_t kSome = 128 * 1024;  ///< the lanes' queues are longer

class StrategyTest : public testing::Test {
 protected:
  StrategyTest() {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].lane = &ends[i];
      lanes[i].rail = &rails[i];
      lanes[i].rate = LaneRate(0.1);
    }
  }

  /// The lane holds that much, none of which has left.
  void load(LaneState& lane, std::size_t bytes) {
    ends[static_cast<std::size_t>(&lane - lanes.data())].beat.in_flight = bytes;
    lane.handed(now, bytes);
  }

  Nanoseconds now = kSecond;
  std::array<HandLane, 2> ends = {HandLane({}), HandLane({})};
  std::array<RailLoad, 2> rails;
  std::array<LaneState, 2> lanes;
};

/// Looks at a rail when they tell whether the rates of its lanes are wrong.
using LooksTest = StrategyTest;

/// The last segments may be answered 40 ms later, which a look every moment would make no sooner.
TEST_F(LooksTest, AreOverOnceTheyHaveToldAll) {
  lanes[0].rate.late(now, 0.1);  // thought to be slower than it was, too
  ASSERT_TRUE(lanes[0].rate.slowed());
  load(lanes[0], 2000);
  ASSERT_GT(rails[0].look_due(), now);
  for (int looks = 0; rails[0].look_due() != 0; ++looks) {
    ASSERT_LT(looks, 3);
    now = std::max(now + 1, rails[0].look_due());
    rails[0].refresh(now, 0);
    ASSERT_TRUE(rails[0].look_due() == 0 || rails[0].look_due() > now);
  }
}

TEST_F(LooksTest, AreForLanesThatAKernelOrANicAnswersOn) {
  ends[0].answering = Answers::process;
  load(lanes[0], kSome);
  EXPECT_EQ(rails[0].look_due(), 0);
}

class EarliestFinishTest : public StrategyTest {
 protected:
  LaneChoice choose(std::size_t queued = kMuch) { return earliest_finish().choose(lanes, 0, {queued, 0}, now); }

  /// One lane is full, and of the other it was found just now that it is much slower.
  void fill_fast_beside_a_crawling_lane() {
    load(fast, fill_limit(fast));
    other.rate = LaneRate(0.0005);
    other.handed_at = now;
  }

  LaneState& fast = lanes[0];
  LaneState& other = lanes[1];
};

TEST_F(EarliestFinishTest, ChoosesFromTheLanesOfCertainRails) {
  lanes[1].local_rail = 1;
  load(other, fill_limit(other) / 2);
  EXPECT_EQ(earliest_finish().choose(lanes, 0, {kMuch, 0}, now).lane, &fast);
  for (const std::size_t queued : {std::size_t{64}, kSmall + 1, kMuch})
    EXPECT_EQ(earliest_finish().choose(lanes, only(1), {queued, 0}, now).lane, &other) << queued;
  EXPECT_EQ(earliest_finish().choose(lanes, only(0) | only(1), {kMuch, 0}, now).lane, &fast);
  other.suspect = true;
  EXPECT_EQ(earliest_finish().choose(lanes, only(1), {kMuch, 0}, now).lane, nullptr);
}

class WeightedTest : public StrategyTest {
 protected:
  WeightedTest() {
    rails[0].weight = 9;
    rails[1].weight = 1;
  }

  LaneChoice choose(std::size_t queued = kMuch) { return weighted().choose(lanes, 0, {queued, 0}, now); }

  /// Hands over what is chosen, again and again, all of which has left at once. Returns bytes by lane.
  std::array<std::size_t, 2> carry(int frames) {
    std::array<std::size_t, 2> bytes{};
    for (int i = 0; i < frames; ++i) {
      const LaneChoice choice = choose();
      if (choice.lane == nullptr) return {};
      choice.lane->handed(now, choice.bytes);
      bytes[static_cast<std::size_t>(choice.lane - lanes.data())] += choice.bytes;
      now += kMillisecond;
    }
    return bytes;
  }

  LaneState& heavy = lanes[0];
  LaneState& light = lanes[1];
};

TEST_F(EarliestFinishTest, TakesTheLaneThatEndsFirst) {
  other.rate = LaneRate(0.05);
  EXPECT_EQ(choose().lane, &fast);
  load(fast, 64 * 1024);
  EXPECT_EQ(choose().lane, &other);
}

TEST_F(EarliestFinishTest, GivesALaneNoMoreThanItsShareOfWhatIsLeft) {
  const LaneChoice half = choose(100 * 1024);
  EXPECT_NEAR(static_cast<double>(half.bytes), 50 * 1024, 1024);
  EXPECT_EQ(choose(4096).bytes, 4096U);
}

/// Both ends choose the same rail for what is small, though each sees rates of its own and has sent something else before.
TEST_F(EarliestFinishTest, SmallThingsStayOnTheFirstOfLanesThatAreAboutAsFast) {
  other.rate = LaneRate(0.12);
  EXPECT_EQ(choose(kSmall).lane, &fast);
  load(fast, kSlight);
  EXPECT_EQ(choose(kSmall).lane, &fast);
  EXPECT_EQ(choose(kSmall + 1).lane, &other) << "only what is small does";
}

/// The peer may have answered it: a link lets bursts through, and is busy for as long all the same.
TEST_F(EarliestFinishTest, SmallThingsDoNotWaitForTheLastOneToTheSamePeer) {
  load(fast, 4096);
  EXPECT_EQ(choose(4096).lane, &other) << "who asks for the fill now, and not again before 50 us have passed";
  now += 40 * kMicrosecond;
  EXPECT_EQ(choose(4096).lane, &other);
  now += 5 * kMicrosecond;
  EXPECT_EQ(choose(4096).lane, &fast);
  load(fast, 4096);
  EXPECT_EQ(choose(4096).lane, &other);
  ends[0].beat.in_flight = 0;
  now += 60 * kMicrosecond;
  EXPECT_EQ(choose(4096).lane, &fast);
}

TEST_F(EarliestFinishTest, SmallThingsWaitForThoseToOtherPeersAsLongAsTheRailNeeds) {
  LaneState to_another = lanes[0];
  ends[0].beat.in_flight = 4096;
  to_another.handed(now, 4096);
  now += 10 * kMicrosecond;
  EXPECT_EQ(choose(4096).lane, &other);
  now += 30 * kMicrosecond;
  EXPECT_EQ(choose(4096).lane, &fast);
}

/// Else all that is of medium size would take the other lane from here on.
TEST_F(EarliestFinishTest, HearsThatWhatALaneHeldHasLeft) {
  load(fast, kSmall - 1);
  ASSERT_EQ(choose(2 * kSmall).lane, &other);
  ends[0].beat.in_flight = 0;
  now += kMillisecond;
  EXPECT_EQ(choose(2 * kSmall).lane, &fast);
}

/// Else the rest of what was split, and each next message, would wait on the slow lane that has just got some.
TEST_F(EarliestFinishTest, SlowLanesShareWhatIsSmall) {
  for (LaneState& lane : lanes) lane.rate = LaneRate(0.02);
  ASSERT_LT(least_piece(fast), kSmall / 3);
  const LaneChoice half = choose(kSmall);
  EXPECT_LE(half.bytes, kSmall / 2);
  load(*half.lane, half.bytes);
  const LaneChoice rest = choose(kSmall - half.bytes);
  EXPECT_NE(rest.lane, half.lane);
  EXPECT_EQ(rest.bytes, kSmall - half.bytes);
}

TEST_F(EarliestFinishTest, SmallThingsLeaveALaneThatIsSlowOrFullOrNotThere) {
  fast.rate = LaneRate(0.06);
  EXPECT_EQ(choose(64).lane, &other);
  fast.rate = LaneRate(0.1);
  load(fast, kSlight);
  EXPECT_EQ(choose(64).lane, &fast);
  fast.forget_fill(now);
  load(fast, kSlight + 1);
  EXPECT_EQ(choose(64).lane, &other);
  fast.forget_fill(now);
  EXPECT_EQ(choose(64).lane, &fast);
  fast.lane = nullptr;
  EXPECT_EQ(choose(64).lane, &other);
}

TEST_F(EarliestFinishTest, SmallThingsTakeTheLaneOnWhichTheyComeFirst) {
  ends[0].rtt = 60 * kMicrosecond;
  EXPECT_EQ(choose(64).lane, &fast) << "of the other nothing is known";
  ends[1].rtt = 6 * kMicrosecond;
  EXPECT_EQ(choose(64).lane, &other);
  EXPECT_EQ(choose(kSmall).lane, &fast) << "which takes 80 us there or here";
  ends[0].rtt = 24 * kMicrosecond;
  EXPECT_EQ(choose(64).lane, &fast) << "they are alike";
  ends[0].rtt = 60 * kMicrosecond;
  other.rate = LaneRate(0.001);
  EXPECT_EQ(choose(64).lane, &fast) << "which takes 64 us there";
}

TEST_F(EarliestFinishTest, ALaneOnWhichBytesComeLaterGetsFewer) {
  ends[0].rtt = 20 * kMicrosecond;
  ends[1].rtt = 420 * kMicrosecond;
  const LaneChoice first = choose(100 * 1024);
  ASSERT_EQ(first.lane, &fast);
  EXPECT_NEAR(static_cast<double>(first.bytes), 60e3, 2e3);
  ends[1].rtt = 3 * kMillisecond;
  EXPECT_EQ(choose(100 * 1024).bytes, 100U * 1024) << "it would come later on the other, however little it is";
}

TEST_F(EarliestFinishTest, UsesASlowLaneThatEndsBeforeAFullOneIsEmpty) {
  load(fast, fill_limit(fast));
  other.rate = LaneRate(0.01);
  EXPECT_EQ(choose().lane, &other);
}

TEST_F(EarliestFinishTest, WaitsForAFullLaneThatEndsLongBeforeASlowOne) {
  fill_fast_beside_a_crawling_lane();
  EXPECT_EQ(choose(kSome).lane, nullptr);
}

/// Lanes that share queues with others are as fast as they are filled: one that was thought to be slow remained so.
TEST_F(EarliestFinishTest, FillsASlowLaneThatEndsBeforeEverythingDoes) {
  fill_fast_beside_a_crawling_lane();
  EXPECT_EQ(choose(kMuch).lane, &other);
}

TEST_F(EarliestFinishTest, TriesACrawlingLaneNowAndThen) {
  other.rate = LaneRate(0.0005);
  other.handed_at = now;
  now += kSecond;
  load(fast, fill_limit(fast));
  const LaneChoice tried = choose(kSome);
  ASSERT_EQ(tried.lane, &other);
  EXPECT_EQ(tried.bytes, kSmall);
  other.handed(now, tried.bytes);
  EXPECT_EQ(choose(kSome).lane, nullptr);
}

/// Its queue is short, and empties soon.
TEST_F(EarliestFinishTest, FindsThatASlowLaneHasBecomeFast) {
  constexpr Nanoseconds kStep = 100 * kMicrosecond;
  constexpr std::size_t kLeaves = 5000;  // in a step: 0.05 bytes per nanosecond
  other.rate = LaneRate(0.005);
  std::size_t& queue = ends[1].beat.in_flight;
  for (int step = 0; step < 1000; ++step) {
    now += kStep;
    queue -= std::min(queue, kLeaves);
    look_at_fill(other, now);
    const std::size_t limit = fill_limit(other);
    if (const std::size_t more = limit - std::min(limit, other.fill); more != 0) queue += more, other.handed(now, more);
  }
  EXPECT_NEAR(other.rate.known(), 0.05, 0.01);
}

TEST_F(EarliestFinishTest, ASlowLaneHoldsNoMoreThanIsGoneSoon) {
  other.rate = LaneRate(0.0125);
  EXPECT_LE(fill_limit(other), static_cast<std::size_t>(13 * kMillisecond * other.rate.known()));
}

TEST_F(WeightedTest, SharesAreKept) {
  light.rate = LaneRate(1);  // however fast a lane is
  const auto bytes = carry(1000);
  const auto longest = static_cast<double>(longest_piece(light));
  EXPECT_NEAR(static_cast<double>(bytes[0]), 9 * static_cast<double>(bytes[1]), 10 * longest);
}

TEST_F(WeightedTest, ALaneThatIsFullIsWaitedFor) {
  load(light, fill_limit(light));
  for (; choose().lane == &heavy; now += kMillisecond) heavy.handed(now, choose().bytes);
  EXPECT_EQ(choose().lane, nullptr);
  EXPECT_GE(heavy.given + kSmall, 9 * light.given);
}

TEST_F(WeightedTest, SmallMessagesTakeTheHeaviestLane) {
  heavy.given = kMuch;
  EXPECT_EQ(choose(kSmall).lane, &heavy);
  EXPECT_EQ(choose(kSmall + 1).lane, &light);
}

TEST_F(WeightedTest, ALaneWithoutAShareStandsInForOthersOnly) {
  rails[1].weight = 0;
  EXPECT_EQ(carry(100)[1], 0U);
  heavy.suspect = true;
  EXPECT_EQ(choose().lane, &light);
}

TEST_F(WeightedTest, WhatALaneGotTooMuchOfIsMadeUpFor) {
  heavy.suspect = true;
  const auto alone = carry(10);
  heavy.suspect = false;
  const auto after = carry(1000);
  EXPECT_EQ(alone[0], 0U);
  EXPECT_NEAR(static_cast<double>(after[0]), 9 * static_cast<double>(alone[1] + after[1]), 10 * static_cast<double>(longest_piece(light)));
}

class BestRailTest : public EarliestFinishTest {
 protected:
  LaneChoice choose(std::size_t queued = kMuch) { return best_rail().choose(lanes, 0, {queued, 0}, now); }
};

TEST_F(BestRailTest, KeepsToTheFastestLane) {
  other.rate = LaneRate(2 * fast.rate.known());
  EXPECT_EQ(choose().lane, &other);
  other.rate = LaneRate(1.1 * fast.rate.known());  // about as good: the first one
  EXPECT_EQ(choose().lane, &fast);
  EXPECT_EQ(choose(4096).bytes, 4096U);
}

TEST_F(BestRailTest, WaitsForItWhenItIsFull) {
  load(fast, fill_limit(fast));
  EXPECT_EQ(choose().lane, nullptr);
}

TEST_F(BestRailTest, TakesAnotherWhenItIsGone) {
  fast.suspect = true;
  EXPECT_EQ(choose().lane, &other);
  fast.lane = nullptr;
  EXPECT_EQ(choose().lane, &other);
  other.lane = nullptr;
  EXPECT_EQ(choose().lane, nullptr);
}

}  // namespace
}  // namespace nezha::test
