// SPDX-License-Identifier: BSD-3-Clause
/// Small allreduces of several threads that are under way at the same time share frames.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <thread>

#include "kinds.h"

namespace nezha::test {
namespace {

constexpr int kRanks = 4;
constexpr int kThreads = 6;

std::uint64_t frames_sent(Ranks& ranks) {
  std::uint64_t frames = 0;
  for (int rank = 0; rank < kRanks; ++rank)
    for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) frames += rail.frames_sent;
  return frames;
}

TEST(Aggregation, SmallOperationsShareFrames) {
  Ranks ranks(kRanks, {{"single_node", "1"}, {"algorithm", "doubling"}});
  std::deque<Team> teams;
  for (int i = 0; i < kThreads; ++i) teams.emplace_back(ranks, "number " + std::to_string(i));
  for (Team& team : teams) ASSERT_TRUE(team.start());
  const std::uint64_t before = frames_sent(ranks);
  const int operations = slowed_down() ? 300 : 2000;
  std::vector<std::thread> threads;
  for (Team& team : teams)
    threads.emplace_back([&] {
      ranks.run([&](int rank) {
        for (int i = 0; i < operations; ++i) {
          std::int64_t value = rank + i;
          const nezha_call_t call{NEZHA_ALLREDUCE, &value, &value, 1, sizeof value, NEZHA_INT64, NEZHA_SUM, nullptr, nullptr, 0, 0};
          ASSERT_EQ(team.allreduce(rank, call), NEZHA_OK);
          ASSERT_EQ(value, kRanks * i + kRanks * (kRanks - 1) / 2);
        }
      });
    });
  for (std::thread& thread : threads) thread.join();
  const double pieces = 2.0 * kRanks * kThreads * operations;  // one in each of log2(ranks) steps
  const double frames = static_cast<double>(frames_sent(ranks) - before);
  RecordProperty("pieces_in_a_frame", std::to_string(pieces / frames));
  EXPECT_LT(frames, 0.9 * pieces);
}

}  // namespace
}  // namespace nezha::test
