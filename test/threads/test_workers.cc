// SPDX-License-Identifier: BSD-3-Clause
/// Ranks whose rails have workers of their own.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "kinds.h"

namespace nezha::test {
namespace {

bool said(const Rank& rank, const std::string& part) {
  const std::vector<std::string> lines = rank.lines();
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

/// Integers, so that any order of summing gives the same.
void sum_up(Ranks& ranks, Team& team, std::size_t bytes) {
  const Kind& sum = kind("int32_sum");
  const std::size_t count = bytes / sum.element;
  std::vector<std::vector<std::byte>> vectors;
  for (int rank = 0; rank < ranks.size(); ++rank) vectors.push_back(make_vector(sum, count, static_cast<std::size_t>(rank)));
  const std::vector<std::byte> expected = ring_result(sum, vectors);
  ranks.run([&](int rank) {
    for (int times = 0; times < 3; ++times) {
      std::vector<std::byte> vector = vectors[static_cast<std::size_t>(rank)];
      EXPECT_EQ(team.allreduce(rank, make_call(sum, count, vector.data(), vector.data())), NEZHA_OK);
      EXPECT_TRUE(same_bytes(vector, expected)) << bytes << " bytes on rank " << rank;
    }
  });
}

class Workers : public testing::TestWithParam<const char*> {};

TEST_P(Workers, SumsAreRight) {
  for (const int size : {2, 3, 5}) {
    Ranks ranks(size, {{"single_node", "2"}, {"algorithm", GetParam()}, {"rail_threads", "1"}, {"verbose", "2"}});
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    for (const std::size_t bytes : {8, 30000, 300000, 5000000}) sum_up(ranks, team, bytes);
    EXPECT_TRUE(said(ranks.at(0), "rail tcp/lo0: its worker is bound to cores "));
    EXPECT_TRUE(said(ranks.at(0), "rail tcp/lo1: its worker is bound to cores "));
  }
}
INSTANTIATE_TEST_SUITE_P(Algorithms, Workers, testing::Values("ring", "mesh", "single_step", "doubling", "halving"),
                         [](const auto& info) { return std::string(info.param); });

/// The application's handlers run on its own threads only.
TEST(WorkersOfRails, LeaveSignalsToTheApplication) {
  Ranks ranks(2, {{"single_node", "2"}, {"rail_threads", "1"}});
  Team team(ranks, "both");
  ASSERT_TRUE(team.start());
  sum_up(ranks, team, 100000);
  std::size_t ours = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(thread.path() / "comm"), status(thread.path() / "status");
    std::string name, word;
    std::uint64_t blocked = 0;
    while (status >> word && word != "SigBlk:") continue;
    if (!(comm >> name) || name.rfind("nezha-", 0) != 0) continue;
    status >> std::hex >> blocked;
    ++ours;
    for (const int signal : {SIGALRM, SIGTERM, SIGUSR1, SIGCHLD})
      EXPECT_NE(blocked & std::uint64_t{1} << (signal - 1), 0u) << name << " takes signal " << signal;
  }
  EXPECT_EQ(ours, 2u * 3u) << "a service thread and two workers each";
}

/// As OpenMP's runtime binds the thread that makes the first call.
TEST(ServiceThread, MayRunWhereTheEngineWasMade) {
  Ranks ranks(2, {{"single_node", "2"}});
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Team team(ranks, "both");
  EXPECT_TRUE(team.start());
  sum_up(ranks, team, 8);
  EXPECT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  int ours = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    if (!(std::ifstream(thread.path() / "comm") >> name) || name != "nezha-service") continue;
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(std::stoi(thread.path().filename()), sizeof set, &set), 0);
    EXPECT_TRUE(CPU_EQUAL(&set, &all));
    ++ours;
  }
  EXPECT_EQ(ours, 2);
}

/// Nobody said how many ranks share the cores, so none is spare; but a list names some.
TEST(WorkersOfRails, AutoTakesAListsWord) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int core = 0;
  while (!CPU_ISSET(core, &set)) ++core;
  Ranks ranks(2, {{"single_node", "2"}, {"rail_threads", "auto"}, {"rail_cores", "lo1=" + std::to_string(core) + ";lo0=8191"}, {"verbose", "2"}});
  Team team(ranks, "both");
  ASSERT_TRUE(team.start());
  sum_up(ranks, team, 1000000);
  EXPECT_TRUE(said(ranks.at(0), "rail tcp/lo1: its worker is bound to cores " + std::to_string(core)));
  EXPECT_FALSE(said(ranks.at(0), "rail tcp/lo0: its worker"));
  ASSERT_EQ(ranks.at(0).helps().size(), 1u);
  EXPECT_EQ(ranks.at(0).helps()[0].topic, "cores outside the cpuset");
  EXPECT_EQ(ranks.at(0).helps()[0].arguments[0], "lo0");
}

/// A rank dies while the others' workers send to it.
TEST(WorkersOfRails, GoOnWhenARankIsGone) {
  Ranks ranks(3, {{"single_node", "2"}, {"timeout", "1"}, {"rail_threads", "1"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  sum_up(ranks, team, 100000);
  ranks.run([&](int rank) {
    if (rank == 2) {
      team.destroy(2);
      ranks.at(2).destroy();
      return;
    }
    std::vector<std::byte> vector(4000000);
    EXPECT_EQ(team.allreduce(rank, make_call(kind("int32_sum"), vector.size() / 4, vector.data(), vector.data())),
              NEZHA_ERR_FAILED);
  });
  Team pair(ranks, "those who are left", {0, 1});
  ranks.run([&](int rank) {
    if (rank == 2) return;
    pair.create(rank);
    ASSERT_EQ(pair.agree(rank), NEZHA_TEAM_READY);
    std::vector<std::byte> vector(4000000, std::byte(1 << rank));
    EXPECT_EQ(pair.allreduce(rank, make_call(kind("uint8_bxor"), vector.size(), vector.data(), vector.data())), NEZHA_OK);
    EXPECT_TRUE(vector == std::vector(vector.size(), std::byte{3}));
  });
}

}  // namespace
}  // namespace nezha::test
