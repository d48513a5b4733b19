// SPDX-License-Identifier: BSD-3-Clause
/// Teams of one node: sums in the memory that its ranks share, without a lane, and without any rail.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "../unit/open_descriptors.h"
#include "barriers.h"
#include "kinds.h"
#include "late_calls.h"

namespace nezha::test {
namespace {

/// No interface has that name: as on a node without a network.
const Settings kNoRails{{"rail_include", "no-such-interface"}, {"verbose", "1"}};

Settings with(Settings settings, const char* name, const char* value) {
  settings.emplace_back(name, value);
  return settings;
}

/// Several calls in a row, to some of which some ranks come late, with the same bits on all ranks and in all calls.
void sum_up(Ranks& ranks, Team& team, const Kind& kind, std::size_t count, int calls) {
  std::vector<std::vector<std::byte>> first(static_cast<std::size_t>(ranks.size()));
  call_late(ranks, team, kind, count, calls, [&](int rank, int call, const std::vector<std::byte>& recv) {
    std::vector<std::byte>& before = first[static_cast<std::size_t>(rank)];
    if (call == 0) before = recv;
    return same_bytes(recv, before);
  });
  for (const int rank : team.members())
    EXPECT_TRUE(same_bytes(first[static_cast<std::size_t>(rank)], first[static_cast<std::size_t>(team.members()[0])]));
}

/// Sums of integers, which depend on no order.
void sums_are_right(Ranks& ranks, Team& team, std::size_t count, int calls) {
  const Kind& sum = kind("int32_sum");
  std::vector<std::vector<std::byte>> vectors;
  for (const int rank : team.members()) vectors.push_back(make_vector(sum, count, static_cast<std::size_t>(rank)));
  const std::vector<std::byte> expected = ring_result(sum, vectors);
  ranks.run([&](int rank) {
    if (!team.has(rank)) return;
    for (int call = 0; call < calls; ++call) {
      std::vector<std::byte> recv = make_vector(sum, count, static_cast<std::size_t>(rank));
      ASSERT_EQ(team.allreduce(rank, make_call(sum, count, recv.data(), recv.data())), NEZHA_OK);
      ASSERT_TRUE(same_bytes(recv, expected)) << "on rank " << rank << ", call " << call << " of " << count;
    }
  });
}

class WithinNode : public testing::TestWithParam<int> {};

TEST_P(WithinNode, NeedsNoRail) {
  Ranks ranks(GetParam(), kNoRails);
  EXPECT_EQ(ranks.at(0).result(), NEZHA_ERR_RAILS);
  Team team(ranks, "everybody");
  team.within_node = true;
  ASSERT_TRUE(team.start());
  for (const std::size_t count : {1, 2, 7, 100, 3000, 20000, 300000, 1500000}) {
    sums_are_right(ranks, team, count, count < 10000 ? 30 : 4);
    sum_up(ranks, team, kind("float_sum"), count, 4);
  }
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const nezha_memory_stats_t stats = ranks.at(rank).memory();
    EXPECT_EQ(stats.calls, 5u * 30 + 3 * 4 + 8 * 4);
    EXPECT_GT(stats.copied_in_ns, 0u);
    EXPECT_GT(stats.reduced_ns, 0u);
    EXPECT_GT(stats.shared_ns, 0u);
    EXPECT_EQ(stats.between_ns, 0u);
    EXPECT_GE(stats.time_ns, stats.copied_in_ns + stats.reduced_ns + stats.shared_ns);
    EXPECT_EQ(ranks.at(rank).calls(), 0u) << "rails carried none";
  }
}

TEST_P(WithinNode, Meets) {
  Ranks ranks(GetParam(), kNoRails);
  Team team(ranks, "everybody");
  team.within_node = true;
  ASSERT_TRUE(team.start());
  meet(ranks, team, 50);
  sums_are_right(ranks, team, 100, 3);
  meet(ranks, team, 3);
  EXPECT_EQ(ranks.at(0).memory().calls, 3u) << "sums";
}

INSTANTIATE_TEST_SUITE_P(Ranks, WithinNode, testing::Values(2, 3, 4, 8));

/// Rails there are, and some ranks of the job: no lane comes up, and nothing goes over a rail.
TEST(WithinNodeOfRails, HasNoLane) {
  Ranks ranks(4, {{"single_node", "2"}});
  Team team(ranks, "some", {3, 1, 2});
  team.within_node = true;
  ASSERT_TRUE(team.start());
  sums_are_right(ranks, team, 100000, 3);
  for (int rank = 0; rank < ranks.size(); ++rank)
    for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) {
      EXPECT_EQ(rail.lanes_up, 0u);
      EXPECT_EQ(rail.bytes_sent, 0u);
    }
}

/// Beside a team over rails of the same ranks, in another thread.
TEST(WithinNodeOfRails, WorksBesideATeamOverRails) {
  Ranks ranks(3, {{"single_node", "2"}});
  Team within(ranks, "within"), over_rails(ranks, "over rails");
  within.within_node = true;
  ASSERT_TRUE(within.start());
  ASSERT_TRUE(over_rails.start());
  std::thread other([&] { sums_are_right(ranks, over_rails, 30000, 30); });
  sums_are_right(ranks, within, 50000, 60);
  other.join();
}

/// A rank that wants no shared memory, or all of them by rank 0's parameter: nobody carries anything.
TEST(WithinNodeDeclines, WhereARankSharesNothing) {
  for (const int without : {0, 1, 2}) {
    Ranks ranks(3, [&](int rank) { return rank == without ? with(kNoRails, "shared_memory", "0") : kNoRails; });
    Team team(ranks, "everybody");
    team.within_node = true;
    EXPECT_FALSE(team.start()) << without;
  }
}

/// What its members agree on from the first call on, so that every run has the same bits.
TEST(WithinNodeAgrees, BeforeTheFirstCall) {
  Ranks ranks(3, with(kNoRails, "reproducible", "1"));
  Team team(ranks, "everybody");
  team.within_node = true;
  int agreements = 0;
  team.after_deciding = [&](int rank) {
    if (rank == 0) ++agreements;
  };
  ASSERT_TRUE(team.start());
  EXPECT_EQ(agreements, 2);
}

/// It is in no call, but it lives.
TEST(WithinNodeLife, AMemberThatComputesIsWaitedFor) {
  Ranks ranks(3, with(kNoRails, "timeout", "1"));
  Team team(ranks, "everybody");
  team.within_node = true;
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("int32_sum");
  for (const int late : {0, 2})
    ranks.run([&](int rank) {
      if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      std::vector<std::byte> recv = make_vector(sum, 1000, static_cast<std::size_t>(rank));
      ASSERT_EQ(team.allreduce(rank, make_call(sum, 1000, recv.data(), recv.data())), NEZHA_OK) << "rank " << rank;
    });
}

/// One that cannot go on ends the call for all, who name it, and later calls fail at once.
TEST(WithinNodeLife, AMemberThatGivesUpIsNamed) {
  Ranks ranks(3, kNoRails);
  Team team(ranks, "everybody");
  team.within_node = true;
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("int32_sum");
  ranks.run([&](int rank) {
    if (rank == 1) return nezha_team_give_up(team.handle(rank), "a test");
    std::vector<std::byte> recv = make_vector(sum, 1000, static_cast<std::size_t>(rank));
    for (int call = 0; call < 2; ++call)
      ASSERT_EQ(team.allreduce(rank, make_call(sum, 1000, recv.data(), recv.data())), NEZHA_ERR_FAILED) << rank;
    char text[256];
    nezha_team_error(team.handle(rank), text, sizeof text);
    EXPECT_NE(std::string(text).find("rank 1 on here"), std::string::npos) << text;
  });
}

/// Who has given up in a call, and left, shows no life any more. Where the others have its part they wait for those only who have
/// not called yet.
TEST(WithinNodeLife, AMemberThatHasDoneItsPartMayGiveUp) {
  Ranks ranks(3, with(kNoRails, "timeout", "1"));
  Team team(ranks, "everybody");
  team.within_node = true;
  ASSERT_TRUE(team.start());
  const auto call = [&](int rank) {
    std::vector<std::byte> recv = make_vector(kind("int32_sum"), 10, static_cast<std::size_t>(rank));
    return team.allreduce(rank, make_call(kind("int32_sum"), 10, recv.data(), recv.data()));
  };
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    nezha_team_give_up(team.handle(1), "a test");
  });
  EXPECT_EQ(call(1), NEZHA_ERR_FAILED);
  other.join();
  team.destroy(1);
  ranks.run([&](int rank) {
    if (rank == 1) return;
    if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    EXPECT_EQ(call(rank), NEZHA_OK) << rank;
  });
}

/// Two ranks of which one calls with another size: an error, and no wrong sum.
TEST(WithinNodeLife, CountsThatDifferAreAnError) {
  Ranks ranks(2, kNoRails);
  for (const std::size_t other : {10, 100000}) {
    Team team(ranks, "everybody");
    team.within_node = true;
    ASSERT_TRUE(team.start());
    const Kind& sum = kind("int32_sum");
    ranks.run([&](int rank) {
      const std::size_t count = rank == 0 ? 20 : other;
      std::vector<std::byte> recv = make_vector(sum, count, static_cast<std::size_t>(rank));
      EXPECT_EQ(team.allreduce(rank, make_call(sum, count, recv.data(), recv.data())), NEZHA_ERR_FAILED) << rank;
    });
  }
}

/// Nothing is left of a team that is gone.
TEST(WithinNodeMemory, IsGivenBack) {
  Ranks ranks(3, kNoRails);
  std::ptrdiff_t after_first = 0;
  for (int again = 0; again < 3; ++again) {
    Team team(ranks, "everybody");
    team.within_node = true;
    ASSERT_TRUE(team.start());
    sums_are_right(ranks, team, 100, 2);
    ranks.run([&](int rank) { team.destroy(rank); });
    if (again == 0) after_first = open_descriptors();
  }
  EXPECT_EQ(open_descriptors(), after_first);
}

}  // namespace
}  // namespace nezha::test
