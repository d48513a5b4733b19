// SPDX-License-Identifier: BSD-3-Clause
/// What a team tries and chooses while it learns, and when lanes go or come.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "scenario.h"

namespace nezha::test {
namespace {

/// The stages that rank 0's table goes through, by call; nothing for a call that the incumbent had.
struct Learned {
  std::vector<std::optional<SizeClass::Stage>> stages;
  bool one_rail = false;  ///< is a candidate
  bool looks(std::size_t from, std::size_t to) const {
    return std::find(stages.begin() + static_cast<std::ptrdiff_t>(from), stages.begin() + static_cast<std::ptrdiff_t>(to),
                     SizeClass::Stage::retrial) != stages.begin() + static_cast<std::ptrdiff_t>(to);
  }
  std::ptrdiff_t left(std::size_t from) const {
    return std::count(stages.begin() + static_cast<std::ptrdiff_t>(from), stages.end(), std::nullopt);
  }
};

Learned learn(Scenario scenario, std::vector<Happening> happenings) {
  scenario.algorithm = AlgorithmChoice::automatic;
  scenario.learn = true;
  Learned learned;
  learned.stages.resize(scenario.calls);
  for (std::size_t call = 0; call < scenario.calls; ++call)
    happenings.push_back({call, 0, [&learned, &scenario, call](World& world) {
                            const SizeClass* one = world.process(0).team(0)->table().size_class(size_class_of(scenario.bytes));
                            if (one == nullptr) return;  // it is late for its first call
                            learned.stages[call] = one->stage();
                            for (const Candidate& way : one->candidates()) learned.one_rail = learned.one_rail || way.one_rail;
                          }});
  EXPECT_EQ(play(scenario, happenings).failure, "");
  return learned;
}

TEST(Learning, OneRailIsTriedWhereThereAreSeveral) {
  Scenario scenario;
  scenario.calls = 10;
  EXPECT_TRUE(learn(scenario, {}).one_rail);
  scenario.rails = 1;
  EXPECT_FALSE(learn(scenario, {}).one_rail);
}

TEST(Learning, ALaneThatGoesOrComesHasTheTableLookAgain) {
  Scenario scenario;
  scenario.bytes = 4 * 1024;
  scenario.calls = 1200;
  const Learned calm = learn(scenario, {});
  EXPECT_FALSE(calm.looks(100, 1200));
  EXPECT_GT(calm.left(0), 0);
  const Learned loses = learn(scenario, {{200, 0, [](World& world) { world.faults().outage(1, 1, kForEver); }}});
  EXPECT_TRUE(loses.looks(200, 1200)) << "though small calls, on the first rail, take no longer";
  EXPECT_EQ(loses.left(200), 0) << "the incumbent may run over what is lost";
}

}  // namespace
}  // namespace nezha::test
