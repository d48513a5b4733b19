// SPDX-License-Identifier: BSD-3-Clause
/// When lanes are sampled: long after a team is ready where its calls are small, before its first call where no call
/// may be the incumbent's.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "kinds.h"
#include "ranks.h"

namespace nezha::test {
namespace {

constexpr std::size_t kSmall = 8, kLarge = 1024 * 1024;  ///< bytes
constexpr std::size_t kSample = 512 * 1024;              ///< is less than one takes

class Rates : public testing::Test {
 protected:
  Rates() : ranks(3, Settings{{"single_node", "2"}}), team(ranks, "team") { team.foreseen = kSmall; }

  void call(std::size_t bytes) {
    const Kind& sum = kind("float_sum");
    const Sums& sums = ring_sums(sum, bytes / sum.element, ranks.ring_order(team.members()));
    ranks.run([&](int rank) {
      const std::vector<std::byte>& send = sums.vectors[static_cast<std::size_t>(rank)];
      std::vector<std::byte> recv(bytes);
      ASSERT_EQ(team.allreduce(rank, make_call(sum, bytes / sum.element, send.data(), recv.data())), NEZHA_OK);
      EXPECT_TRUE(bytes < kLarge || recv == sums.result) << "on rank " << rank;
    });
  }
  std::uint64_t sent(int rank) {
    std::uint64_t bytes = 0;
    for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) bytes += rail.bytes_sent;
    return bytes;
  }

  Ranks ranks;
  Team team;
};

TEST_F(Rates, AreNotSampledForSmallCalls) {
  ASSERT_TRUE(team.start());
  for (int i = 0; i < 50; ++i) call(kSmall);
  for (int rank = 0; rank < 3; ++rank) EXPECT_LT(sent(rank), kSample) << "by rank " << rank;
}

TEST_F(Rates, AreSampledInTheFirstLargeCall) {
  ASSERT_TRUE(team.start());
  call(kSmall);
  call(kLarge);
  for (int rank = 0; rank < 3; ++rank) EXPECT_GT(sent(rank), kSample + 2 * kLarge) << "by rank " << rank;
}

/// Where nodes add up first, those lanes count that their sums go by.
TEST(RatesOfNodes, AreThoseOfLanesBetweenCounterparts) {
  Ranks ranks(4, Settings{{"single_node", "2"}}, {"a", "a", "b", "b"});
  Team team(ranks, "team");
  team.foreseen = kLarge;
  ASSERT_TRUE(team.start());
  for (int rank = 0; rank < 4; ++rank) {
    std::uint64_t bytes = 0;
    for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) bytes += rail.bytes_sent;
    EXPECT_GT(bytes, kSample) << "by rank " << rank;
  }
}

/// The lanes of the second team are those of the first, but in its ring other ones follow one another, which were not
/// sampled.
TEST(PinnedBits, HoldFromTheFirstCallOnAlsoWhereARankComesLate) {
  Ranks ranks(3, Settings{{"single_node", "2"}, {"reproducible", "1"}, {"connect_timeout", "1"}});
  Team forwards(ranks, "forwards"), backwards(ranks, "backwards", {0, 2, 1});
  backwards.foreseen = kSmall;
  ASSERT_TRUE(forwards.start());
  ranks.run([&](int rank) {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(3));  // for longer than wiring may take
    backwards.create(rank);
    EXPECT_EQ(backwards.agree_before_first_call(rank), NEZHA_TEAM_READY)
        << "rank " << rank << " leaves its call to the incumbent";
  });
}

}  // namespace
}  // namespace nezha::test
