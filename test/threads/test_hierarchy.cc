// SPDX-License-Identifier: BSD-3-Clause
/// Nodes with several ranks: what they add up in shared memory, and what goes between nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <thread>

#include "../unit/open_descriptors.h"
#include "../unit/temporary_folder.h"
#include "barriers.h"
#include "kinds.h"
#include "late_calls.h"

namespace nezha::test {
namespace {

using Nodes = std::vector<std::string>;

const Settings kSettings{{"single_node", "2"}, {"verbose", "1"}};

bool shares(const Rank& rank) {
  const std::vector<std::string> lines = rank.lines();
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("adds up on its nodes first") != std::string::npos;
  });
}

std::uint64_t sent(const Rank& rank) {
  std::uint64_t bytes = 0;
  for (const nezha_rail_stats_t& rail : rank.rails()) bytes += rail.bytes_sent;
  return bytes;
}

/// Sums of integers, which depend on no order; every rank, several calls in a row, of which some ranks come late.
void sum_up(Ranks& ranks, Team& team, std::size_t count, int calls) {
  const Kind& sum = kind("int32_sum");
  std::vector<std::vector<std::byte>> vectors;
  for (const int rank : team.members()) vectors.push_back(make_vector(sum, count, static_cast<std::size_t>(rank)));
  const std::vector<std::byte> expected = ring_result(sum, vectors);
  call_late(ranks, team, sum, count, calls,
            [&](int, int, const std::vector<std::byte>& recv) { return same_bytes(recv, expected); });
}

class Hierarchies : public testing::TestWithParam<Nodes> {};

TEST_P(Hierarchies, AddUp) {
  Ranks ranks(static_cast<int>(GetParam().size()), kSettings, GetParam());
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (int rank = 0; rank < ranks.size(); ++rank) ASSERT_TRUE(shares(ranks.at(rank))) << "rank " << rank;
  for (const std::size_t count : {1, 2, 7, 100, 3000, 20000, 300000, 1500000})
    sum_up(ranks, team, count, count < 10000 ? 30 : 4);
}

/// Sums of floats, whose bits depend on their order: the same on all ranks, and in every call.
TEST_P(Hierarchies, GiveTheSameBits) {
  Ranks ranks(static_cast<int>(GetParam().size()), kSettings, GetParam());
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("float_sum");
  for (const std::size_t count : {10, 5000, 400000}) {
    std::vector<std::vector<std::byte>> first(GetParam().size());
    ranks.run([&](int rank) {
      const std::vector<std::byte> send = make_vector(sum, count, static_cast<std::size_t>(rank));
      for (int call = 0; call < 5; ++call) {
        std::vector<std::byte> recv(send.size());
        ASSERT_EQ(team.allreduce(rank, make_call(sum, count, send.data(), recv.data())), NEZHA_OK);
        std::vector<std::byte>& before = first[static_cast<std::size_t>(rank)];
        if (call == 0) before = recv;
        ASSERT_TRUE(same_bytes(recv, before)) << "on rank " << rank << ", call " << call << " of " << count;
      }
    });
    for (const std::vector<std::byte>& other : first) EXPECT_TRUE(other == first[0]) << count;
  }
}

/// Only the first of each node sends to other nodes, and sums in between are right.
TEST_P(Hierarchies, Meet) {
  constexpr int kTimes = 100;
  const Nodes& nodes = GetParam();
  Ranks ranks(static_cast<int>(nodes.size()), kSettings, nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  std::vector<std::uint64_t> before;
  for (int rank = 0; rank < ranks.size(); ++rank) before.push_back(sent(ranks.at(rank)));
  meet(ranks, team, kTimes);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const bool first = std::find(nodes.begin(), nodes.end(), nodes[rank]) == nodes.begin() + static_cast<long>(rank);
    const std::uint64_t bytes = sent(ranks.at(static_cast<int>(rank))) - before[rank];
    if (first)
      EXPECT_GE(bytes, kTimes * sizeof(std::uint64_t));
    else
      EXPECT_LT(bytes, kTimes * sizeof(std::uint64_t));
  }
  sum_up(ranks, team, 100, 3);
  meet(ranks, team, 3);
}

INSTANTIATE_TEST_SUITE_P(Nodes, Hierarchies,
                         testing::Values(Nodes{"a", "a", "b", "b"}, Nodes{"a", "b", "a", "b"},
                                         Nodes{"a", "a", "a", "b"}, Nodes{"a", "b", "b", "c", "c", "c"},
                                         Nodes{"a", "a", "b", "b", "c", "c"}));

/// Each rank of a node carries a part: together they send what one rank alone on its node would.
TEST(Hierarchy, SumsAloneGoOverTheRails) {
  constexpr std::size_t kCount = 1 << 20;
  Ranks ranks(4, kSettings, {"a", "a", "b", "b"});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const std::uint64_t before = sent(ranks.at(0)) + sent(ranks.at(1));
  sum_up(ranks, team, kCount, 1);
  const std::uint64_t bytes = sent(ranks.at(0)) + sent(ranks.at(1)) - before;
  EXPECT_GE(bytes, kCount * 4);
  EXPECT_LE(bytes, kCount * 4 + 100000);
}

TEST(Hierarchy, AsManyRanksOfANodeCarryAsTheWaySays) {
  const TemporaryFolder folder;
  const std::string table = folder.path() / "table";
  std::ofstream(table) << R"({"module": "nezha", "rule_file_version": 3, "collectives": {"allreduce": [{"rules": [
      {"msg_size_max": 1048575, "alg": "mesh", "carriers": 1}, {"alg": "ring", "carriers": 2}]}]}})";
  Settings settings = kSettings;
  settings.insert(settings.end(), {{"learn", "0"}, {"table", table}});
  Ranks ranks(8, settings, {"a", "a", "a", "a", "b", "b", "b", "b"});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  sum_up(ranks, team, 1000, 1);  // lanes are sampled
  for (const auto& [count, carriers] : {std::pair{100000, 1}, {1000000, 2}}) {
    std::array<std::uint64_t, 4> before{};
    for (int rank = 0; rank < 4; ++rank) before[static_cast<std::size_t>(rank)] = sent(ranks.at(rank));
    sum_up(ranks, team, static_cast<std::size_t>(count), 1);
    for (int rank = 0; rank < 4; ++rank) {
      const std::uint64_t bytes = sent(ranks.at(rank)) - before[static_cast<std::size_t>(rank)];
      if (rank < carriers)
        EXPECT_GT(bytes, static_cast<std::uint64_t>(4 * count / carriers - 1000));
      else
        EXPECT_LT(bytes, 1000U);
    }
  }
}

/// A second communicator, whose lanes are there, and to whose first call one rank comes long after the others.
TEST(Hierarchy, IsForTeamsThatOneComesLateTo) {
  Settings settings = kSettings;
  settings.emplace_back("connect_timeout", "1");
  Ranks ranks(4, settings, {"a", "a", "b", "b"});
  Team first(ranks, "first"), second(ranks, "second");
  ASSERT_TRUE(first.start());
  ranks.run([&](int rank) {
    second.create(rank);
    if (rank == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1700));
    EXPECT_EQ(second.agree(rank), NEZHA_TEAM_READY);
  });
  for (int rank = 0; rank < ranks.size(); ++rank) EXPECT_TRUE(nezha_team_shares_memory(second.handle(rank))) << rank;
}

/// One that is declined when its nodes have their memory lets go of it, and of what that was handed over by.
TEST(Hierarchy, OfADeclinedTeamLeavesNothingOpen) {
  Ranks ranks(4, kSettings, {"a", "a", "b", "b"});
  Team first(ranks, "first"), declined(ranks, "declined");
  ASSERT_TRUE(first.start());
  const auto before = open_descriptors();
  const auto agree = [&](OrAllreduce::Words words) {
    nezha_team_state_t state = NEZHA_TEAM_WIRING;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      OrAllreduce::Words own{};
      nezha_team_vote(declined.handle(rank), own.data());
      for (std::size_t i = 0; i < words.size(); ++i) words[i] |= own[i];
    }
    for (int rank = 0; rank < ranks.size(); ++rank) state = nezha_team_decide(declined.handle(rank), words.data());
    return state;
  };
  const auto comes = [](const auto& what) {
    for (int i = 0; i < 5000; ++i) {
      if (what()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  for (int rank = 0; rank < ranks.size(); ++rank) declined.create(rank);
  ASSERT_EQ(agree({}), NEZHA_TEAM_WIRING);
  ASSERT_TRUE(comes([&] { return open_descriptors() >= before + 4; })) << "two ends of a connection on each node";
  OrAllreduce::Words no{};
  nezha_vote_no(no.data());
  ASSERT_EQ(agree(no), NEZHA_TEAM_DECLINED);
  EXPECT_TRUE(comes([&] { return open_descriptors() == before; })) << open_descriptors() - before << " more";
}

/// One process has no acceptor: nobody shares, and nobody's contribution is missing.
TEST(Hierarchy, IsForAllNodesOrForNone) {
  for (const int without : {0, 1, 3}) {
    Ranks ranks(5,
                [&](int rank) {
                  Settings settings = kSettings;
                  if (rank == without) settings.emplace_back("shared_memory", "0");
                  return settings;
                },
                {"a", "a", "a", "b", "b"});
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    for (int rank = 0; rank < ranks.size(); ++rank)
      EXPECT_FALSE(shares(ranks.at(rank))) << rank << " without " << without;
    for (const std::size_t count : {1, 1000, 200000}) sum_up(ranks, team, count, 3);
  }
}

TEST(Hierarchy, IsLeftAloneOnRequest) {
  Settings settings = kSettings;
  settings.emplace_back("shared_memory", "0");
  Ranks ranks(4, settings, {"a", "a", "b", "b"});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  EXPECT_FALSE(shares(ranks.at(0)));
  sum_up(ranks, team, 100000, 2);
}

}  // namespace
}  // namespace nezha::test
