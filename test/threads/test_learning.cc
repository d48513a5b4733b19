// SPDX-License-Identifier: BSD-3-Clause
/// Teams whose tables learn: whatever is tried, results are right and all ranks go the same way, though each has its own
/// speed. The incumbent is a sum in memory between two barriers.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "kinds.h"
#include "ranks.h"

namespace nezha::test {
namespace {

constexpr int kRanks = 4;
constexpr std::size_t kSizes[] = {8, 4096, 65536, 300000};

class Incumbent {
 public:
  explicit Incumbent(std::chrono::milliseconds time) : time_(time), barrier_(kRanks) {}

  void allreduce(int rank, const nezha_call_t& call) {
    sources_[static_cast<std::size_t>(rank)] = static_cast<const std::int64_t*>(call.send);
    barrier_.arrive_and_wait();
    auto* out = static_cast<std::int64_t*>(call.recv);
    for (std::size_t i = 0; i < call.count; ++i) {
      out[i] = 0;
      for (const std::int64_t* source : sources_) out[i] += source[i];
    }
    std::this_thread::sleep_for(time_);
    barrier_.arrive_and_wait();
  }

 private:
  const std::chrono::milliseconds time_;
  std::barrier<> barrier_;
  std::array<const std::int64_t*, kRanks> sources_{};
};

/// Calls of every size in turn; each rank dawdles in its own way. How many of each rank's calls the incumbent had.
std::array<int, kRanks> run(Ranks& ranks, Team& team, Incumbent& incumbent, int rounds) {
  std::array<int, kRanks> left{};
  ranks.run([&](int rank) {
    std::mt19937 random(static_cast<unsigned>(rank));
    for (int round = 0; round < rounds; ++round)
      for (const std::size_t bytes : kSizes) {
        const std::size_t count = bytes / sizeof(std::int64_t);
        std::vector<std::int64_t> send(count, rank + round), recv(count, -1);
        const nezha_call_t call{NEZHA_ALLREDUCE, send.data(), recv.data(), count, sizeof(std::int64_t), NEZHA_INT64, NEZHA_SUM, nullptr, nullptr, 0, 0};
        if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300 * (1 + rank)));
        const int result = team.allreduce(rank, call);
        if (result == NEZHA_USE_INCUMBENT) {
          incumbent.allreduce(rank, call);
          nezha_incumbent_done(team.handle(rank), NEZHA_ALLREDUCE);
          ++left[static_cast<std::size_t>(rank)];
        } else {
          ASSERT_EQ(result, NEZHA_OK);
        }
        ASSERT_EQ(recv, std::vector<std::int64_t>(count, kRanks * round + kRanks * (kRanks - 1) / 2)) << bytes;
      }
  });
  return left;
}

bool tells(Ranks& ranks, int rank, const std::string& words) {
  for (const std::string& line : ranks.at(rank).lines())
    if (line.find(words) != std::string::npos) return true;
  return false;
}

const Settings kReproducible{{"reproducible", "1"}};

class Learning : public testing::TestWithParam<Settings> {};

TEST_P(Learning, LeavesWhatIsSlowAndStaysRight) {
  Settings settings{{"single_node", "2"}, {"learn", "1"}, {"verbose", "2"}};
  settings.insert(settings.end(), GetParam().begin(), GetParam().end());
  Ranks ranks(kRanks, settings);
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  Incumbent incumbent(std::chrono::milliseconds(100));
  const int rounds = slowed_down() ? 100 : 400;
  const int calls = rounds * static_cast<int>(std::size(kSizes));
  for (const int left : run(ranks, team, incumbent, rounds)) EXPECT_LT(left, calls / 10) << "the slowest way stays in use";
  for (int rank = 0; rank < kRanks; ++rank) {
    for (const char* size : {"from 4k bytes", "from 64k bytes", "from 256k bytes"})
      EXPECT_TRUE(tells(ranks, rank, size)) << size << " was not decided on rank " << rank;
    // In the ring's order nothing comes near the single-step mesh there.
    EXPECT_NE(tells(ranks, rank, "from 8 bytes"), GetParam() == kReproducible) << "rank " << rank;
  }
}
INSTANTIATE_TEST_SUITE_P(Settings, Learning,
                         testing::Values(Settings{}, Settings{{"window", "16k"}, {"checksum", "1"}},
                                         kReproducible));

/// Two teams of the same ranks in two threads: each has a table of its own.
TEST(LearningTeams, LearnBesideOneAnother) {
  Ranks ranks(kRanks, {{"single_node", "2"}, {"learn", "1"}});
  Team first(ranks, "first"), second(ranks, "second");
  ASSERT_TRUE(first.start());
  ASSERT_TRUE(second.start());
  Incumbent slow(std::chrono::milliseconds(20)), slower(std::chrono::milliseconds(50));
  std::thread other([&] { run(ranks, second, slower, slowed_down() ? 30 : 100); });
  run(ranks, first, slow, slowed_down() ? 30 : 100);
  other.join();
}

/// As Open MPI's simplest ones do. The inner call is below the threshold, so that it is left to the incumbent too.
TEST(LearningTeams, AnIncumbentThatMakesCallsOfItsOwnIsMeasured) {
  Ranks ranks(kRanks, {{"single_node", "2"}, {"learn", "1"}, {"verbose", "2"}, {"collectives", "allreduce,bcast"}, {"threshold", "16k"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  Incumbent incumbent(std::chrono::milliseconds(20));
  ranks.run([&](int rank) {
    for (int call = 0; call < 100; ++call) {
      std::vector<std::int64_t> send(8192, rank), recv(8192), inner(1);
      const nezha_call_t outer{NEZHA_ALLREDUCE, send.data(), recv.data(), send.size(), 8, NEZHA_INT64, NEZHA_SUM, nullptr, nullptr, 0, 0};
      const nezha_call_t nested{NEZHA_BROADCAST, inner.data(), inner.data(), inner.size(), 8, NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, nullptr, nullptr, 0, 0};
      const int result = team.allreduce(rank, outer);
      ASSERT_GE(result, NEZHA_OK);
      if (result == NEZHA_OK) continue;
      ASSERT_EQ(nezha_carry(team.handle(rank), &nested), NEZHA_USE_INCUMBENT);
      nezha_incumbent_done(team.handle(rank), NEZHA_BROADCAST);
      incumbent.allreduce(rank, outer);
      nezha_incumbent_done(team.handle(rank), NEZHA_ALLREDUCE);
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(tells(ranks, rank, "from 64k bytes")) << "rank " << rank;
    EXPECT_FALSE(tells(ranks, rank, "incumbent not measured")) << "rank " << rank;
  }
}

TEST(LearningTeams, AFixedAlgorithmTriesNothing) {
  Ranks ranks(kRanks, {{"single_node", "1"}, {"learn", "1"}, {"algorithm", "mesh"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  Incumbent incumbent(std::chrono::milliseconds(0));
  for (const int left : run(ranks, team, incumbent, 100)) EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace nezha::test
