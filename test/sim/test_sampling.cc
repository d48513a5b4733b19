// SPDX-License-Identifier: BSD-3-Clause
/// What the sample at first use is for: the first vector is shared out among unequal rails as it should be.
#include <gtest/gtest.h>

#include "scenario.h"

namespace nezha::test {
namespace {

constexpr double kFast = 0.125;  ///< bytes per nanosecond

/// Of the first call that Nezha carries, in messages too small to measure a lane with.
Nanoseconds first_call(double last_rate) {
  Scenario scenario;
  scenario.rate = kFast;
  scenario.last_rate = last_rate;
  scenario.bytes = 64 * 1024;
  const Story story = play(scenario, {});
  EXPECT_EQ(story.failure, "");
  return story.took[1];
}

TEST(Sampling, ASlowRailDoesNotHoldUpTheFirstCall) {
  const Nanoseconds equal = first_call(kFast);
  EXPECT_LT(first_call(kFast / 10), 3 * equal) << "with half of the bytes on it, ten times";
  EXPECT_LT(first_call(kFast / 100), 3 * equal) << "a hundred times";
}

Scenario first_small(double last_rate, std::size_t small_calls, std::size_t calls) {
  Scenario scenario;
  scenario.algorithm = AlgorithmChoice::automatic;
  scenario.last_rate = last_rate;
  scenario.bytes = 64 * 1024;
  scenario.small_calls = small_calls;
  scenario.calls = calls;
  return scenario;
}

TEST(Sampling, IsNotMadeForSmallCalls) {
  const Story story = play(first_small(kFast / 10, 30, 30), {});
  EXPECT_EQ(story.failure, "");
  for (const std::uint64_t sent : story.sent) EXPECT_LT(sent, 64 * 1024u);
}

TEST(Sampling, IsMadeBeforeTheFirstLargeCallThatRailsCarry) {
  const auto last_call = [](double last_rate) {
    const Story story = play(first_small(last_rate, 10, 60), {});
    EXPECT_EQ(story.failure, "");
    for (const std::uint64_t sent : story.sent) EXPECT_GT(sent, 1024 * 1024u);
    return story.took.back();
  };
  EXPECT_LT(last_call(kFast / 10), 3 * last_call(kFast));
}

TEST(Sampling, AFastRailGetsMost) { EXPECT_LT(first_call(10 * kFast), first_call(kFast)); }

}  // namespace
}  // namespace nezha::test
