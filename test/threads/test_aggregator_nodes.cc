// SPDX-License-Identifier: BSD-3-Clause
/// Nodes with several ranks, whose counterparts send a part of their parts through an aggregator. Sums are exact here, since their
/// order is that of the nodes.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "aggregators.h"

namespace nezha::test {
namespace {

struct Ground {
  const char* name;
  std::vector<std::string> nodes;  ///< by rank
  std::size_t carriers;            ///< of each node
};

const Ground kEven{"even", {"a", "a", "b", "b", "c", "c"}, 2};
const Ground kUneven{"uneven", {"a", "b", "b", "a", "c"}, 1};

class OfNodes : public testing::TestWithParam<std::tuple<Ground, std::string>> {};

TEST_P(OfNodes, GiveTheSumsOfTheRails) {
  const auto& [ground, share] = GetParam();
  const KeyFile key("nodes");
  Aggregator aggregator(key.key());
  Ranks ranks(static_cast<int>(ground.nodes.size()), settings(aggregator.port(), key.path(), share), ground.nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(ranks, team));
  for (const std::size_t count : {262144, 300001, 1000003})
    for (const bool in_place : {false, true}) add_up(ranks, team, "int32_sum", count, in_place);
  aggregator.finish();
  const std::size_t served = ground.carriers * (share == "auto" ? 3 : 6);
  expect_served(aggregator, served, !lost_patience(ranks, {}));
}

INSTANTIATE_TEST_SUITE_P(All, OfNodes,
                         testing::Combine(testing::Values(kEven, kUneven), testing::Values("37", "100", "auto")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

TEST(AggregatorsOfNodes, MayEndAndComeBackInTheMiddle) {
  const KeyFile key("nodes-back");
  auto aggregator = std::make_unique<Aggregator>(key.key());
  const std::uint16_t port = aggregator->port();
  Ranks ranks(static_cast<int>(kEven.nodes.size()), settings(port, key.path(), "60"), kEven.nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (std::size_t times = 1; times <= 3; ++times) {
    ASSERT_TRUE(joins(ranks, team, times));
    const auto end = [&] {
      wait_ms(20 + 7 * static_cast<int>(times));
      aggregator.reset();
      wait_ms(20);
    };
    add_up_while(ranks, team, end, "int32_sum");
    add_up(ranks, team, "int32_sum", 1000003, true);
    if (!lost_patience(ranks, {})) {
      EXPECT_EQ(joined(ranks.at(0)), times);
    }
    aggregator = std::make_unique<Aggregator>(key.key(), port);
  }
}

}  // namespace
}  // namespace nezha::test
