// SPDX-License-Identifier: BSD-3-Clause
/// Which lane takes the next bytes, and whether it is better to wait for one.
#include <array>

#include "trunk/lane_limits.h"
#include "trunk/strategy.h"
#include "trunk_pair.h"

namespace nezha::test {
namespace {

constexpr std::size_t kMuch = 1024 * 1024;

class EarliestFinishTest : public testing::Test {
 protected:
  EarliestFinishTest() {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].lane = &ends[i];
      lanes[i].rail = &rails[i];
      lanes[i].rate = 0.1;
    }
  }

  LaneChoice choose(std::size_t queued = kMuch) { return earliest_finish().choose(lanes, queued, now); }

  /// The lane holds that much, none of which has left.
  void load(LaneState& lane, std::size_t bytes) {
    ends[static_cast<std::size_t>(&lane - lanes.data())].beat.in_flight = bytes;
    lane.handed(now, bytes);
  }

  Nanoseconds now = kSecond;
  std::array<HandLane, 2> ends = {HandLane({}), HandLane({})};
  std::array<RailLoad, 2> rails;
  std::array<LaneState, 2> lanes;
  LaneState& fast = lanes[0];
  LaneState& other = lanes[1];
};

TEST_F(EarliestFinishTest, TakesTheLaneThatEndsFirst) {
  other.rate = 0.05;
  EXPECT_EQ(choose().lane, &fast);
  load(fast, 64 * 1024);
  EXPECT_EQ(choose().lane, &other);
}

TEST_F(EarliestFinishTest, GivesALaneNoMoreThanItsShareOfWhatIsLeft) {
  const LaneChoice half = choose(100 * 1024);
  EXPECT_NEAR(static_cast<double>(half.bytes), 50 * 1024, 1024);
  EXPECT_EQ(choose(4096).bytes, 4096U);
}

TEST_F(EarliestFinishTest, UsesASlowLaneThatEndsBeforeAFullOneIsEmpty) {
  load(fast, fill_limit(fast));
  other.rate = 0.01;
  EXPECT_EQ(choose().lane, &other);
}

TEST_F(EarliestFinishTest, WaitsForAFullLaneThatEndsLongBeforeASlowOne) {
  load(fast, fill_limit(fast));
  other.rate = 0.001;
  other.handed_at = now;
  EXPECT_EQ(choose().lane, nullptr);
}

TEST_F(EarliestFinishTest, TriesACrawlingLaneNowAndThen) {
  other.rate = 0.001;
  other.handed_at = now;
  now += 500 * kMillisecond;
  load(fast, fill_limit(fast));
  const LaneChoice tried = choose();
  ASSERT_EQ(tried.lane, &other);
  EXPECT_EQ(tried.bytes, kSmall);
  other.handed(now, tried.bytes);
  EXPECT_EQ(choose().lane, nullptr);
}

TEST_F(EarliestFinishTest, ASlowLaneHoldsNoMoreThanIsGoneInAFewMilliseconds) {
  other.rate = 0.0125;
  EXPECT_LE(fill_limit(other), static_cast<std::size_t>(5 * kMillisecond * other.rate));
}

}  // namespace
}  // namespace nezha::test
