// SPDX-License-Identifier: BSD-3-Clause
/// Many teams at once over the same lanes: one thread for each rank of each team, as under MPI_THREAD_MULTIPLE, and
/// single threads that go from team to team.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <random>
#include <thread>

#include "kinds.h"

namespace nezha::test {
namespace {

struct Job {
  const Kind* kind;
  std::size_t count;
  std::size_t seed;
};

const Kind* any_kind(std::mt19937_64& random) { return &kinds()[random() % kinds().size()]; }

/// Mostly small ones, some of some hundred KiB.
std::size_t any_bytes(std::mt19937_64& random) {
  constexpr std::array<std::size_t, 5> kMost = {64, 4096, 20000, 60000, 300000};
  return 1 + random() % kMost[random() % kMost.size()];
}

Job any_job(std::mt19937_64& random) {
  const Kind* kind = any_kind(random);
  return {kind, std::max<std::size_t>(1, any_bytes(random) / kind->element), random()};
}

std::vector<std::byte> contribution(const Job& job, int rank) {
  return make_vector(*job.kind, job.count, job.seed + static_cast<std::size_t>(rank) * 7919);
}

/// One member's part of the job, checked there.
void do_job(Team& team, const std::vector<int>& order, const Job& job, int rank) {
  std::vector<std::vector<std::byte>> vectors;
  for (const int member : order) vectors.push_back(contribution(job, member));
  const std::vector<std::byte> send = contribution(job, rank);
  std::vector<std::byte> recv(send.size());
  ASSERT_EQ(team.allreduce(rank, make_call(*job.kind, job.count, send.data(), recv.data())), NEZHA_OK);
  EXPECT_TRUE(recv == ring_result(*job.kind, vectors) || recv == tree_result(*job.kind, vectors))
      << job.kind->name << " of " << job.count << " on rank " << rank;
}

void rest(std::mt19937_64& random) {
  if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
}

std::deque<Team> make_teams(Ranks& ranks) {
  std::deque<Team> teams;
  teams.emplace_back(ranks, "world");
  teams.emplace_back(ranks, "copy of world");
  teams.emplace_back(ranks, "first three", std::vector{0, 1, 2});
  teams.emplace_back(ranks, "last three", std::vector{2, 3, 4});
  teams.emplace_back(ranks, "ends", std::vector{4, 0});
  teams.emplace_back(ranks, "odd ones out", std::vector{3, 0, 1, 4});
  return teams;
}

class Teams : public testing::TestWithParam<Settings> {};

TEST_P(Teams, OneThreadForEachMember) {
  Ranks ranks(5, GetParam());
  std::deque<Team> teams = make_teams(ranks);
  const std::size_t jobs = slowed_down() ? 15 : 40;
  std::vector<std::thread> threads;
  for (std::size_t which = 0; which < teams.size(); ++which) {
    for (const int rank : teams[which].members()) {
      threads.emplace_back([&, which, rank] {
        Team& team = teams[which];
        const std::vector<int> order = ranks.ring_order(team.members());
        std::mt19937_64 same(which), own(which * 100 + static_cast<std::size_t>(rank));
        team.create(rank);
        EXPECT_EQ(team.agree(rank), NEZHA_TEAM_READY);
        for (std::size_t i = 0; i < jobs; ++i) {
          rest(own);
          do_job(team, order, any_job(same), rank);
        }
        team.destroy(rank);
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Teams, OneThreadForEachRank) {
  Ranks ranks(5, GetParam());
  std::deque<Team> teams = make_teams(ranks);
  for (Team& team : teams) ASSERT_TRUE(team.start());
  const std::size_t jobs = slowed_down() ? 60 : 200;
  ranks.run([&](int rank) {
    std::mt19937_64 same(11), own(static_cast<std::size_t>(rank));
    for (std::size_t i = 0; i < jobs; ++i) {  // all ranks have one order of calls, and skip those that are not theirs
      Team& team = teams[same() % teams.size()];
      const Job job = any_job(same);
      if (!team.has(rank)) continue;
      rest(own);
      do_job(team, ranks.ring_order(team.members()), job, rank);
    }
  });
}

std::string name_of(const testing::TestParamInfo<Settings>& info) {
  constexpr std::array kNames = {"two_rails", "small_window", "ring", "mesh_checked", "reproducible"};
  return kNames[info.index];
}
INSTANTIATE_TEST_SUITE_P(
    Settings, Teams,
    testing::Values(Settings{{"single_node", "2"}}, Settings{{"single_node", "1"}, {"window", "16k"}},
                    Settings{{"single_node", "2"}, {"algorithm", "ring"}, {"chunk", "1000"}},
                    Settings{{"single_node", "3"}, {"algorithm", "mesh"}, {"checksum", "1"}},
                    Settings{{"single_node", "1"}, {"reproducible", "1"}}),
    name_of);

/// Each team alone keeps within the window; together they use it up to the last byte while the next rank in the ring
/// has begun none of them.
TEST(Window, IsUsedUpByTeamsTogether) {
  Ranks ranks(3, {{"single_node", "1"}, {"window", "16k"}, {"algorithm", "ring"}});
  std::deque<Team> teams;
  for (int i = 0; i < 12; ++i) teams.emplace_back(ranks, "team");
  for (Team& team : teams) ASSERT_TRUE(team.start());
  std::vector<std::thread> threads;
  for (std::size_t which = 0; which < teams.size(); ++which) {
    for (int rank = 0; rank < ranks.size(); ++rank) {
      threads.emplace_back([&, which, rank] {
        if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        for (std::size_t i = 0; i < 3; ++i) do_job(teams[which], {0, 1, 2}, {&kind("int8_sum"), 6000, i}, rank);
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace nezha::test
