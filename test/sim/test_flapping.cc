// SPDX-License-Identifier: BSD-3-Clause
/// A rail that goes and comes again and again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../unit/count_allocations.h"
#include "scenario.h"

namespace nezha::test {
namespace {

/// Memory does not grow with the number of times that a rail went: by less than 1 KiB each time, once the worst moments have come.
TEST(Flapping, LeavesNothingBehind) {
  Scenario scenario;
  scenario.bytes = 128 * 1024;
  scenario.calls = 1500;
  scenario.thought = kSecond;  // in which the rail comes back
  std::vector<Happening> flaps;
  for (std::size_t call = 1; call < scenario.calls; call += 5)
    flaps.push_back({call, 0, [](World& world) { world.faults().outage(1, 0, 10 * kMillisecond); }});
  // The least of a hundred calls: when one begins, others may still have their vectors, and buffers that nobody uses stay for a while.
  // Far apart: also the least varies by 90 KiB.
  std::size_t early = SIZE_MAX, late = SIZE_MAX;
  const auto look = [&](std::size_t call, std::size_t& least) {
    flaps.push_back({call, 0, [&least](World& world) { least = std::min(least, live_bytes() - world.observer().memory()); }});
  };
  for (std::size_t i = 0; i < 100; ++i) look(496 + i, early), look(1391 + i, late);
  const Story story = play(scenario, flaps);
  EXPECT_EQ(story.failure, "");
  EXPECT_GT(story.lanes_lost, 100U);
  EXPECT_LT(late, early + 179 * 1024);
}

/// A rail that is there half of the time brings more than one that is not there at all.
TEST(Flapping, CostsLessThanStayingOut) {
  Scenario scenario;
  scenario.calls = 60;
  scenario.bytes = 256 * 1024;
  scenario.rate = 0.0125;
  constexpr Nanoseconds kHalf = 300 * kMillisecond;
  const auto time = [&](const std::vector<Happening>& happenings) {
    const Story story = play(scenario, happenings);
    EXPECT_EQ(story.failure, "");
    return std::accumulate(story.took.begin() + 1, story.took.end(), Nanoseconds{0});
  };
  const Nanoseconds out = time({{1, 0, [](World& world) { world.faults().outage(1, 0, kForEver); }}});
  std::vector<Happening> flaps;
  for (Nanoseconds when = 0; when < 10 * kSecond; when += 2 * kHalf)
    flaps.push_back({1, when, [](World& world) { world.faults().outage(1, 0, kHalf); }});
  EXPECT_LT(time(flaps), out);
}

/// A link that has fallen from 1 Gbit/s to 10 Mbit/s: messages that are too small to measure it with must not wait for it for long,
/// nor do without it for good once it is whole.
TEST(Flapping, OfSmallMessagesToo) {
  Scenario scenario;
  scenario.algorithm = AlgorithmChoice::halving;  // a ring's blocks bunch up now and then, which takes half as long again on any rails
  scenario.bytes = 32 * 1024;
  scenario.calls = 6000;
  constexpr std::size_t kSlow = 1000, kWhole = 2500, kSettled = 5000;
  const auto all = [](double rate) {
    return [rate](World& world) {
      for (int rank = 0; rank < ranks_of(world); ++rank) world.faults().rate(rank, 1, rate);
    };
  };
  std::array<std::uint64_t, kMaxRails> sent{};
  const auto look = [&](World& world) { sent = world.process(0).core().sent(); };
  std::uint64_t all_rails = 0, whole_rail = 0;
  const auto compare = [&](World& world) {
    const auto now = world.process(0).core().sent();
    for (std::size_t i = 0; i < scenario.rails; ++i) all_rails += now[i] - sent[i];
    whole_rail = now[1] - sent[1];
  };
  const Story story =
      play(scenario, {{kSlow, 0, all(0.00125)}, {kWhole, 0, all(0.125)}, {kSettled, 0, look}, {scenario.calls - 1, 0, compare}});
  EXPECT_EQ(story.failure, "");
  const auto mean = [&](std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t call) { return story.took.begin() + static_cast<std::ptrdiff_t>(call); };
    return std::accumulate(at(from), at(to), Nanoseconds{0}) / static_cast<Nanoseconds>(to - from);
  };
  const Nanoseconds before = mean(100, kSlow);
  EXPECT_LT(mean(kSlow + 300, kWhole), 6 * before);
  EXPECT_LT(mean(kSettled, scenario.calls), before + before / 4);
  EXPECT_GT(whole_rail, all_rails / 8);
}

}  // namespace
}  // namespace nezha::test
