// SPDX-License-Identifier: BSD-3-Clause
/// Whether small vectors go through an aggregator: found by taking turns, alike on all members.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tuning/way_trial.h"

namespace nezha::test {
namespace {

using Time = std::function<Nanoseconds(std::size_t member, bool through)>;

/// Members that call one after the other. Returns how many of `calls` went through the aggregator.
class Members {
 public:
  explicit Members(std::size_t size) : trials_(size) {}

  std::size_t call(std::size_t calls, const Time& time) {
    std::size_t through = 0;
    for (std::size_t call = 0; call < calls; ++call) {
      if (trials_[0].agreement_due()) agree();
      const bool way = trials_[0].through();
      trials_[0].took(time(0, way));
      for (std::size_t member = 1; member < trials_.size(); ++member) {
        EXPECT_FALSE(trials_[member].agreement_due());
        EXPECT_EQ(trials_[member].through(), way);
        trials_[member].took(time(member, way));
      }
      through += way ? 1 : 0;
    }
    return through;
  }

 private:
  void agree() {
    std::vector<std::uint64_t> sums(2);
    for (WayTrial& trial : trials_) {
      EXPECT_TRUE(trial.agreement_due());
      for (std::size_t way = 0; way < sums.size(); ++way) sums[way] += trial.words()[way];
    }
    for (WayTrial& trial : trials_) {
      std::copy(sums.begin(), sums.end(), trial.words().begin());
      trial.agreed();
    }
  }

  std::vector<WayTrial> trials_;
};

constexpr std::size_t kTrial = WayTrial::kBurst * WayTrial::kBursts;

Time times(Nanoseconds rails, Nanoseconds star) {
  return [=](std::size_t, bool through) { return through ? star : rails; };
}

TEST(WayTrial, TakesWhatIsFaster) {
  Members members(3);
  EXPECT_EQ(members.call(kTrial, times(200, 100)), kTrial / 2);
  EXPECT_EQ(members.call(WayTrial::kSoon, times(200, 100)), WayTrial::kSoon);
  Members others(3);
  others.call(kTrial, times(100, 200));
  EXPECT_EQ(others.call(WayTrial::kSoon, times(100, 200)), 0U);
}

TEST(WayTrial, KeepsToTheRailsWhereTheOtherWayIsHardlyFaster) {
  Members members(2);
  members.call(kTrial, times(1000, 970));
  EXPECT_EQ(members.call(WayTrial::kSoon, times(1000, 970)), 0U);
}

/// What one member finds counts as much as what another does.
TEST(WayTrial, GoesByAllMembers) {
  Members members(2);
  const Time apart = [](std::size_t member, bool through) { return through ? (member == 0 ? 50 : 400) : 200; };
  members.call(kTrial, apart);
  EXPECT_EQ(members.call(WayTrial::kSoon, apart), 0U);
}

/// One of the bursts was disturbed.
TEST(WayTrial, ForgivesADisturbance) {
  Members members(2);
  std::size_t calls = 0;
  const Time disturbed = [&](std::size_t, bool through) { return through ? (++calls == 20 ? 1000000 : 100) : 200; };
  members.call(kTrial, disturbed);
  EXPECT_EQ(members.call(WayTrial::kSoon, disturbed), WayTrial::kSoon);
}

/// So a service that becomes slow is left to others, and one that does not pay is tried ever more rarely.
TEST(WayTrial, ComesAgain) {
  Members members(2);
  members.call(kTrial + WayTrial::kSoon, times(200, 100));
  members.call(kTrial, times(200, 900));
  EXPECT_EQ(members.call(WayTrial::kSoon, times(200, 900)), 0U);
  EXPECT_EQ(members.call(kTrial, times(200, 900)), kTrial / 2);
  EXPECT_EQ(members.call(2 * WayTrial::kSoon, times(200, 900)), 0U);
  EXPECT_EQ(members.call(kTrial, times(200, 900)), kTrial / 2);
}

TEST(WayTrial, IsOneForEachSizeClass) {
  WayTrials trials;
  EXPECT_EQ(&trials.of(8), &trials.of(15));
  EXPECT_NE(&trials.of(8), &trials.of(16));
  EXPECT_NE(&trials.of(4096), &trials.of(4095));
}

}  // namespace
}  // namespace nezha::test
