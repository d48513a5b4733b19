// SPDX-License-Identifier: BSD-3-Clause
/// Ranks and teams that come late, come and go, or are gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <string_view>
#include <thread>

#include "../unit/open_descriptors.h"
#include "kinds.h"
#include "naps.h"

namespace nezha::test {
namespace {

using std::chrono::milliseconds;

/// One checked allreduce of `bytes` bytes by the members of the team that are there; `late` begins 300 ms after.
void sum_up(Ranks& ranks, Team& team, std::size_t bytes, int late = -1) {
  const Kind& sum = kind("int32_sum");
  const std::size_t count = bytes / sum.element;
  std::vector<std::vector<std::byte>> vectors;
  for (const int rank : team.members()) vectors.push_back(make_vector(sum, count, static_cast<std::size_t>(rank)));
  const std::vector<std::byte> expected = ring_result(sum, vectors);  // integers: any order will do
  ranks.run([&](int rank) {
    if (!team.has(rank)) return;
    if (rank == late) std::this_thread::sleep_for(milliseconds(300));
    std::vector<std::byte> vector = make_vector(sum, count, static_cast<std::size_t>(rank));
    EXPECT_EQ(team.allreduce(rank, make_call(sum, count, vector.data(), vector.data())), NEZHA_OK);
    EXPECT_TRUE(same_bytes(vector, expected)) << "on rank " << rank;
  });
}

/// How often it has given up.
std::ptrdiff_t failures(const Rank& rank) {
  const std::vector<std::string> lines = rank.lines();
  return std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.find(" has failed: ") != std::string::npos; });
}

class Late : public testing::TestWithParam<const char*> {};

TEST_P(Late, RankBeginsAfterTheOthers) {
  Ranks ranks(4, {{"single_node", "2"}, {"algorithm", GetParam()}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (const std::size_t bytes : {16, 30000, 3000000}) sum_up(ranks, team, bytes, 2);
  EXPECT_GT(ranks.at(0).progress_calls(), 0u) << "the host's own communication must progress while a call waits";
}

/// The others' pieces come before this rank knows the team's id at all.
TEST_P(Late, RankDecidesAfterTheOthers) {
  Ranks ranks(4, {{"single_node", "2"}, {"algorithm", GetParam()}, {"window", "16k"}});
  for (const std::size_t bytes : {16, 30000, 3000000}) {
    Team team(ranks, "everybody");
    team.before_deciding = [](int rank) {
      if (rank == 1) std::this_thread::sleep_for(milliseconds(300));
    };
    const Kind& bits = kind("uint8_bxor");
    ranks.run([&](int rank) {
      team.create(rank);
      ASSERT_EQ(team.agree(rank), NEZHA_TEAM_READY);
      std::vector<std::byte> vector(bytes, std::byte(1 << rank));
      EXPECT_EQ(team.allreduce(rank, make_call(bits, bytes, vector.data(), vector.data())), NEZHA_OK);
      EXPECT_TRUE(vector == std::vector(bytes, std::byte{15})) << "on rank " << rank;
    });
  }
}
INSTANTIATE_TEST_SUITE_P(Algorithms, Late, testing::Values("ring", "mesh", "single_step", "doubling", "halving"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Window, SmallestWithLargeVectors) {
  for (const char* algorithm : {"ring", "mesh", "halving"}) {
    Ranks ranks(4, {{"single_node", "2"}, {"algorithm", algorithm}, {"window", "16k"}});
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    for (int late = 0; late < 4; ++late) sum_up(ranks, team, 5000000, late);
  }
}

TEST(Teams, ComeAndGo) {
  Ranks ranks(3, {{"single_node", "2"}});
  const int times = slowed_down() ? 30 : 200;
  std::ptrdiff_t descriptors = 0;
  for (int i = 0; i < times; ++i) {
    Team team(ranks, "number " + std::to_string(i));
    ASSERT_TRUE(team.start());
    sum_up(ranks, team, i % 3 == 0 ? 200000 : 64);
    if (i == 0) descriptors = open_descriptors();
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  for (int rank = 0; rank < 3; ++rank)
    for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) EXPECT_EQ(rail.lanes_up, 2u);
}

TEST(Teams, MayGoWhileOthersWork) {
  Ranks ranks(3, {{"single_node", "1"}});
  Team stays(ranks, "stays");
  ASSERT_TRUE(stays.start());
  const int times = slowed_down() ? 20 : 60;
  std::thread coming_and_going([&] {
    for (int i = 0; i < times; ++i) {
      Team goes(ranks, "goes", {0, 2});
      EXPECT_TRUE(goes.start());
      sum_up(ranks, goes, 5000);
    }
  });
  for (int i = 0; i < times; ++i) sum_up(ranks, stays, 100000);
  coming_and_going.join();
}

TEST(Engine, GoesWhileOthersStay) {
  Ranks ranks(3, {{"single_node", "2"}});
  Team first(ranks, "everybody");
  ASSERT_TRUE(first.start());
  sum_up(ranks, first, 100000);
  first.destroy(2);
  ranks.at(2).destroy();
  Team pair(ranks, "those who are left", {0, 1});
  ranks.run([&](int rank) {
    if (rank == 2) return;
    pair.create(rank);
    EXPECT_EQ(pair.agree(rank), NEZHA_TEAM_READY);
  });
  sum_up(ranks, pair, 100000);
}

/// Its service thread sleeps without end then.
TEST(Engine, EndsWhenNothingIsDue) {
  Ranks ranks(2, {{"single_node", "2"}});
  {
    Team team(ranks, "both");
    ASSERT_TRUE(team.start());
    sum_up(ranks, team, 100000);
  }
  std::this_thread::sleep_for(milliseconds(300));
  for (int rank = 0; rank < ranks.size(); ++rank) ranks.at(rank).destroy();
}

/// A communicator may be made long before its first call, by some ranks longer than by others.
TEST(Engine, RestsWhileATeamWaitsForItsMembers) {
  Ranks ranks(4, {{"single_node", "1"}});
  Team team(ranks, "everybody");
  for (int rank = 0; rank < ranks.size(); ++rank) team.create(rank);
  std::this_thread::sleep_for(milliseconds(200));
  const long before = naps_of_service();
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_LT(naps_of_service() - before, ranks.size() * 100) << "of some hundreds that they get by looking in every millisecond";
  ranks.run([&](int rank) { EXPECT_EQ(team.agree(rank), NEZHA_TEAM_READY); });
  sum_up(ranks, team, 64);
}

/// No frame is left that could carry the acknowledgement of the last one.
TEST(Engine, AcknowledgesWhileTheApplicationComputes) {
  Ranks ranks(2, {{"single_node", "1"}, {"algorithm", "doubling"}});
  Team team(ranks, "both");
  ASSERT_TRUE(team.start());
  const auto frames = [&] {
    std::uint64_t sent = 0;
    for (int rank = 0; rank < ranks.size(); ++rank)
      for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) sent += rail.frames_sent;
    return sent;
  };
  sum_up(ranks, team, 64);
  std::this_thread::sleep_for(milliseconds(300));
  const std::uint64_t before = frames();
  sum_up(ranks, team, 64);
  for (int i = 0; i < 1000 && frames() < before + 3; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GE(frames(), before + 3) << "one from each rank, and whoever got the later one answers";
}

TEST(Engine, GoneInTheMiddleOfACall) {
  Ranks ranks(3, {{"single_node", "1"}, {"timeout", "1"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  sum_up(ranks, team, 100000);
  const auto call = [&](int rank) {
    std::vector<std::byte> vector(1000000);
    return team.allreduce(rank, make_call(kind("int32_sum"), vector.size() / 4, vector.data(), vector.data()));
  };
  ranks.run([&](int rank) {
    if (rank == 2) {
      std::this_thread::sleep_for(milliseconds(100));
      team.destroy(2);
      ranks.at(2).destroy();
      return;
    }
    EXPECT_EQ(call(rank), NEZHA_ERR_FAILED);
    std::array<char, 256> story{};
    nezha_team_error(team.handle(rank), story.data(), story.size());
    EXPECT_NE(std::string_view(story.data()).find("rank 2 on here"), std::string_view::npos) << story.data();
    EXPECT_EQ(call(rank), NEZHA_ERR_FAILED) << "and again";
    EXPECT_EQ(failures(ranks.at(rank)), 1) << "at once: nobody was waited for once more";
  });
}

/// What is due is the meeting of the ranks before a timed call: it would be due again and again, since nothing was agreed.
TEST(Engine, GoneBeforeAnAgreement) {
  Ranks ranks(3, {{"single_node", "1"}, {"timeout", "1"}, {"learn", "1"}, {"reproducible", "1"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  std::barrier done(3);
  ranks.run([&](int rank) {
    std::vector<std::byte> vector(100000);
    const nezha_call_t call = make_call(kind("int32_sum"), vector.size() / 4, vector.data(), vector.data());
    EXPECT_EQ(team.allreduce(rank, call), NEZHA_OK);
    done.arrive_and_wait();
    if (rank == 2) return team.destroy(2), ranks.at(2).destroy();
    EXPECT_EQ(team.allreduce(rank, call), NEZHA_ERR_FAILED);
    EXPECT_EQ(failures(ranks.at(rank)), 1);
  });
}

/// Nobody answers at the peer's address: the team declines when the time to connect is up, and says who is missing.
TEST(Engine, GoneBeforeItConnected) {
  Ranks ranks(2, {{"single_node", "1"}, {"connect_timeout", "1"}});
  ranks.at(1).destroy();
  Team team(ranks, "both");
  team.create(0);
  nezha_team_state_t state = NEZHA_TEAM_WIRING;
  while (state == NEZHA_TEAM_WIRING) {
    OrAllreduce::Words words{};
    nezha_team_vote(team.handle(0), words.data());
    state = nezha_team_decide(team.handle(0), words.data());
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(state, NEZHA_TEAM_DECLINED);
  std::vector<std::string> named;
  for (const HelpText& help : ranks.at(0).helps())
    if (help.topic == "pair cannot connect") named.insert(named.end(), help.arguments.begin(), help.arguments.end());
  EXPECT_EQ(named, (std::vector<std::string>{"both", "here", "rank 1 on here"}));
}

}  // namespace
}  // namespace nezha::test
