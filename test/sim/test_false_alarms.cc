// SPDX-License-Identifier: BSD-3-Clause
/// What looks like a loss and is none: no lane is closed for it.
#include <gtest/gtest.h>

#include <vector>

#include "scenario.h"

namespace nezha::test {
namespace {

TEST(FalseAlarms, NoneUnderAPausedProcess) {
  Scenario scenario;
  scenario.calls = 6;
  scenario.thought = 10 * kMillisecond;
  std::vector<Happening> pauses;
  for (std::size_t call = 1; call < scenario.calls; ++call)
    pauses.push_back({call, kMillisecond, [call](World& world) {
                        world.faults().pause(static_cast<int>(call) % ranks_of(world), 3 * kSecond);
                      }});
  const Story story = play(scenario, pauses);
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
}

TEST(FalseAlarms, NoneOnASlowRailWithAFullQueue) {
  Scenario scenario;
  const Story story = play(scenario, {{1, kMillisecond, [](World& world) { world.faults().rate(1, 0, 0.0005); }}});
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
}

TEST(FalseAlarms, NoneWhileTheApplicationComputes) {
  Scenario scenario;
  scenario.calls = 8;
  scenario.thought = 60 * kSecond;
  const Story story = play(scenario, {});
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
  EXPECT_EQ(story.suspicions, 0U);
}

TEST(FalseAlarms, NoneWhenAClockJumps) {
  Scenario scenario;
  scenario.timeout = 5;
  std::vector<Happening> jumps;
  for (int i = 0; i < 10; ++i)
    jumps.push_back({1, i * kMillisecond, [i](World& world) { world.faults().jump(i % 4, (kSecond / 10) << i); }});
  const Story story = play(scenario, jumps);
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
}

}  // namespace
}  // namespace nezha::test
