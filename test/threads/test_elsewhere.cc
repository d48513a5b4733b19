// SPDX-License-Identifier: BSD-3-Clause
/// Calls whose vectors the host has to copy: in a device's memory, or with gaps.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <thread>

#include "ranks.h"

namespace nezha::test {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 3;
constexpr std::int64_t kSum = kRanks * (kRanks + 1) / 2;

Elsewhere vector_of(int rank, std::size_t count) {
  Elsewhere vector;
  vector.there.assign(count, rank + 1);
  return vector;
}

nezha_call_t sum_of(Elsewhere& vector) {
  return {NEZHA_ALLREDUCE, nullptr, nullptr, vector.there.size(), 8, NEZHA_INT64, NEZHA_SUM, &vector, nullptr, 0, 0};
}

/// The incumbent's calls take `incumbent`, copying takes `copying`. How many calls of rank 0 the incumbent had.
int left_to_incumbent(milliseconds incumbent, milliseconds copying) {
  constexpr int kCalls = 60;
  Ranks ranks(kRanks, {{"single_node", "2"}, {"learn", "1"}, {"algorithm", "auto"}});
  Team team(ranks, "everybody");
  EXPECT_TRUE(team.start());
  std::barrier all(kRanks);
  int left = 0;
  ranks.run([&](int rank) {
    for (int call = 0; call < kCalls; ++call) {
      Elsewhere vector = vector_of(rank, 1000);
      vector.bringing = [&] {
        std::this_thread::sleep_for(copying);
        return NEZHA_OK;
      };
      const int result = team.allreduce(rank, sum_of(vector));
      const int carried = result == NEZHA_OK ? 1 : 0;
      EXPECT_EQ(vector.brought, carried);
      EXPECT_EQ(vector.delivered, carried);
      if (carried != 0) {
        EXPECT_EQ(vector.there, std::vector<std::int64_t>(1000, kSum));
        continue;
      }
      ASSERT_EQ(result, NEZHA_USE_INCUMBENT);
      all.arrive_and_wait();
      std::this_thread::sleep_for(incumbent);
      nezha_incumbent_done(team.handle(rank), NEZHA_ALLREDUCE);
      if (rank == 0) ++left;
    }
  });
  return left;
}

TEST(Elsewhere, IsBroughtWhereTheIncumbentDoesNotCarryTheCall) { EXPECT_LT(left_to_incumbent(milliseconds(30), {}), 30); }

TEST(Elsewhere, IsBroughtInTheTimeThatWaysAreComparedBy) {
  EXPECT_GT(left_to_incumbent(milliseconds(10), milliseconds(40)), 30);
}

TEST(Elsewhere, OfARequestIsBroughtAtItsStart) {
  Ranks ranks(kRanks, {{"single_node", "2"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ranks.run([&](int rank) {
    Elsewhere vector = vector_of(rank, 1000);
    nezha_call_t call = sum_of(vector);
    nezha_request_t* request = nullptr;
    call.persistent = 1;
    EXPECT_EQ(nezha_start(team.handle(rank), &call, &request), NEZHA_USE_INCUMBENT);
    EXPECT_EQ(vector.brought, 0);
    call.persistent = 0;
    ASSERT_EQ(nezha_start(team.handle(rank), &call, &request), NEZHA_OK);
    EXPECT_EQ(vector.brought, 1);
    while (nezha_request_state(request) == NEZHA_PENDING) nezha_engine_progress(ranks.at(rank).engine());
    EXPECT_EQ(nezha_request_state(request), NEZHA_OK);
    nezha_request_free(request);
    EXPECT_EQ(vector.here, std::vector<std::int64_t>(1000, kSum));
    EXPECT_EQ(vector.delivered, 0) << "that is the host's";
  });
}

TEST(Elsewhere, ThatCannotBeBroughtFailsTheCall) {
  Ranks ranks(kRanks, {{"single_node", "2"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ranks.run([&](int rank) {
    Elsewhere vector = vector_of(rank, 10);
    const auto fail = [&] {
      nezha_team_give_up(team.handle(rank), "no memory");
      return NEZHA_ERR_FAILED;
    };
    if (rank == 1) vector.bringing = fail;
    EXPECT_EQ(team.allreduce(rank, sum_of(vector)), NEZHA_ERR_FAILED);
    EXPECT_EQ(vector.delivered, 0);
  });
}

}  // namespace
}  // namespace nezha::test
