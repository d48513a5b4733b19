// SPDX-License-Identifier: BSD-3-Clause
/// Teams whose ranks have lanes to neighbours only, since coll_nezha_mesh_peers is small.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "kinds.h"

namespace nezha::test {
namespace {

using Nodes = std::vector<std::string>;

Settings few(Settings more = {}) {
  Settings settings{{"single_node", "2"}, {"mesh_peers", "1"}, {"timeout", "2"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Peers that it has lanes to: one over each rail.
std::size_t linked(const Rank& rank) { return rank.rails().front().lanes_up; }

/// Checked allreduces of several sizes by all members.
void sum_up(Ranks& ranks, Team& team, int calls = 4) {
  const Kind& sum = kind("int32_sum");
  for (const std::size_t count : {1, 1000, 5000, 60000}) {
    std::vector<std::vector<std::byte>> vectors;
    for (const int rank : team.members()) vectors.push_back(make_vector(sum, count, static_cast<std::size_t>(rank)));
    const std::vector<std::byte> expected = ring_result(sum, vectors);  // integers: any order will do
    ranks.run([&](int rank) {
      if (!team.has(rank)) return;
      for (int call = 0; call < calls; ++call) {
        std::vector<std::byte> vector = make_vector(sum, count, static_cast<std::size_t>(rank));
        ASSERT_EQ(team.allreduce(rank, make_call(sum, count, vector.data(), vector.data())), NEZHA_OK);
        ASSERT_TRUE(same_bytes(vector, expected)) << "on rank " << rank << ", call " << call << " of " << count;
      }
    });
  }
}

/// Ranks of a node wait for each other in memory, carriers for their counterparts, others for nobody.
class FewLanes : public testing::TestWithParam<Nodes> {};

TEST_P(FewLanes, SufficeForHierarchiesAndWithout) {
  for (const char* shared : {"1", "0"}) {
    Ranks ranks(static_cast<int>(GetParam().size()), few({{"shared_memory", shared}}), GetParam());
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    sum_up(ranks, team);
    std::size_t all = 0;
    for (int rank = 0; rank < ranks.size(); ++rank) all += linked(ranks.at(rank));
    EXPECT_LT(all, GetParam().size() * (GetParam().size() - 1)) << "there are more than neighbours need";
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, FewLanes,
                         testing::Values(Nodes{"a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"},
                                         Nodes{"a", "b", "c", "d", "e", "a", "b", "c", "d", "e", "a", "b"},
                                         Nodes{"a", "a", "a", "a", "a", "a", "b", "b", "b", "b", "c", "c"}));

/// Teams that overlap need other lanes each, some of which are there: the other side had use for them first.
TEST(FewLanesTeams, OverlapAndComeAndGo) {
  constexpr int kRanks = 12;
  Ranks ranks(kRanks, few());
  for (int round = 0; round < (slowed_down() ? 2 : 4); ++round) {
    Team everybody(ranks, "everybody"), backwards(ranks, "backwards", {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}),
        odd(ranks, "odd", {1, 3, 5, 7, 9, 11}), mixed(ranks, "mixed", {4, 11, 0, 7, 2, 9, 6, 1});
    const std::array<Team*, 4> teams = {&everybody, &backwards, &odd, &mixed};
    std::vector<std::thread> threads;
    for (Team* team : teams) {
      threads.emplace_back([&ranks, team] {
        EXPECT_TRUE(team->start());
        sum_up(ranks, *team, 2);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

/// Whatever a rank was told: rank 0's limit holds.
TEST(FewLanesTeams, AgreeWhereLimitsDiffer) {
  for (const int odd_one : {0, 3}) {
    for (const char* limit : {"0", "32"}) {
      const Nodes nodes = {"a", "b", "c", "d", "e", "a", "b", "c", "d", "e"};
      Ranks ranks(
          10,
          [&](int rank) {
            return Settings{{"single_node", "2"},
                            {"mesh_peers", (rank == odd_one) == (std::string(limit) == "0") ? "1" : "32"}};
          },
          nodes);
      Team team(ranks, "everybody");
      ASSERT_TRUE(team.start());
      sum_up(ranks, team, 2);
    }
  }
}

std::string story_of(Team& team, int rank) {
  std::array<char, 512> story{};
  nezha_team_error(team.handle(rank), story.data(), story.size());
  return story.data();
}

/// Ranks that have no lane to the one that is gone hear it from others, also those that wait in memory alone.
void one_goes(const Nodes& nodes, int gone) {
  Ranks ranks(static_cast<int>(nodes.size()), few(), nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  sum_up(ranks, team, 1);
  for (const std::size_t bytes : {64, 400000}) {
    ranks.run([&](int rank) {
      if (rank == gone) {
        if (bytes != 64) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        team.destroy(gone);
        ranks.at(gone).destroy();
        return;
      }
      std::vector<std::byte> vector(bytes);
      EXPECT_EQ(team.allreduce(rank, make_call(kind("int32_sum"), bytes / 4, vector.data(), vector.data())), NEZHA_ERR_FAILED);
      EXPECT_NE(story_of(team, rank).find("rank " + std::to_string(gone) + " "), std::string::npos) << story_of(team, rank);
    });
  }
}

TEST(FewLanesFailures, ReachEveryRank) {
  const Nodes alone = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"};
  for (const int gone : {0, 5, 12}) one_goes(alone, gone);
}

TEST(FewLanesFailures, ReachEveryRankOfNodes) {
  const Nodes shared = {"a", "a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"};
  for (const int gone : {1, 2, 12}) one_goes(shared, gone);
}

/// Rank 0 gives up before rank 4 has decided, which is its counterpart on another node and no neighbour. The others, who
/// would pass it on, decide later.
TEST(FewLanesFailures, ReachACounterpartThatWasNotReady) {
  const Nodes nodes = {"a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"};
  Ranks ranks(12, few(), nodes);
  Team team(ranks, "everybody");
  OrAllreduce votes(12);
  std::barrier first_has_decided(12);
  std::latch told(1);
  nezha_team_state_t first = NEZHA_TEAM_WIRING;
  ranks.run([&](int rank) {
    team.create(rank);
    while (first == NEZHA_TEAM_WIRING) {
      OrAllreduce::Words words{};
      nezha_team_vote(team.handle(rank), words.data());
      votes.combine(words);
      if (rank == 0) first = nezha_team_decide(team.handle(0), words.data());
      first_has_decided.arrive_and_wait();
      if (rank == 0 && first == NEZHA_TEAM_READY) nezha_team_give_up(team.handle(0), "for a test");
      if (rank == 4 && first == NEZHA_TEAM_READY) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      if (rank != 0 && rank != 4 && first == NEZHA_TEAM_READY) told.wait();
      if (rank != 0) {
        EXPECT_EQ(nezha_team_decide(team.handle(rank), words.data()), first);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::vector<std::byte> vector(400000);
    EXPECT_EQ(team.allreduce(rank, make_call(kind("int32_sum"), 100000, vector.data(), vector.data())), NEZHA_ERR_FAILED);
    EXPECT_NE(story_of(team, rank).find(rank == 0 ? "for a test" : "rank 0 on a"), std::string::npos) << story_of(team, rank);
    if (rank == 4) told.count_down();
  });
}

}  // namespace
}  // namespace nezha::test
