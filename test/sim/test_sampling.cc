// SPDX-License-Identifier: BSD-3-Clause
/// Unequal rails: what the sample at first use is for, the first vector is shared out as it should be; and what their round trips
/// count for.
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

constexpr std::size_t kBefore = 5;

/// Of a call behind the first ones, where the first rail's round trip is so many times as long as the other's.
Nanoseconds later_call(AlgorithmChoice algorithm, std::size_t bytes, int times, std::size_t rails = 2) {
  Scenario scenario;
  scenario.ranks = 2;
  scenario.algorithm = algorithm;
  scenario.bytes = bytes;
  scenario.rails = rails;
  scenario.first_delay = times * SimPortOptions{}.delay;
  scenario.calls = 100;
  const Story story = play(scenario, {});
  EXPECT_EQ(story.failure, "");
  return (story.ended.back() - story.ended[kBefore]) / static_cast<Nanoseconds>(scenario.calls - 1 - kBefore);
}

TEST(RoundTrips, ASmallCallTakesTheRailWithTheShorterOne) {
  EXPECT_LT(later_call(AlgorithmChoice::single_step, 64, 50), 2 * later_call(AlgorithmChoice::single_step, 64, 1));
}

/// Beyond what the last small pieces of a call may take.
TEST(RoundTrips, ALongerOneHoldsUpNoCallOfMediumSize) {
  for (const AlgorithmChoice algorithm : {AlgorithmChoice::ring, AlgorithmChoice::mesh})
    for (const std::size_t bytes : {16 * 1024, 64 * 1024, 256 * 1024})
      EXPECT_LE(later_call(algorithm, bytes, 50), 1.25 * static_cast<double>(later_call(algorithm, bytes, 1, 1))) << bytes;
}

}  // namespace
}  // namespace nezha::test
