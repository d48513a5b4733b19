// SPDX-License-Identifier: BSD-3-Clause
/// Once warm, an allreduce allocates nothing: operator new of the whole program is counted, over all ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <random>
#include <thread>
#include <tuple>

#include "kinds.h"
#include "../unit/count_allocations.h"

namespace nezha::test {
namespace {

constexpr int kRanks = 4;
constexpr int kRounds = 30;  // at most: the first that allocates nothing ends it

class SteadyState : public testing::TestWithParam<std::tuple<const char*, std::size_t>> {};

TEST_P(SteadyState, AllocatesNothing) {
  const auto [algorithm, bytes] = GetParam();
  const int warm_up = slowed_down() ? 50 : 200, operations = slowed_down() ? 100 : 1000;
  Ranks ranks(kRanks, {{"single_node", "2"}, {"algorithm", algorithm}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("int32_sum");
  std::barrier all(kRanks);
  std::size_t before = 0, grown = 1;
  std::atomic<std::uint64_t> failed = 0;
  ranks.run([&](int rank) {
    const std::vector<std::byte> send = make_vector(sum, bytes / sum.element, static_cast<std::size_t>(rank));
    std::vector<std::byte> recv(send.size());
    const nezha_allreduce_t call = make_call(sum, bytes / sum.element, send.data(), recv.data());
    std::mt19937 random(static_cast<unsigned>(rank));
    for (int i = 0; i < warm_up; ++i) {  // with early pieces and queues that are longer than usual
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      team.allreduce(rank, call);
    }
    // Memory that grows with the longest queue or the fullest frame so far may grow once more, when the machine is busy: of each
    // lane's and each peer's, to twice its size. It comes to an end; what an operation allocates does not.
    for (int round = 0; round < kRounds && grown != 0; ++round) {
      all.arrive_and_wait();
      if (rank == 0) before = allocations();
      all.arrive_and_wait();
      std::uint64_t wrong = 0;
      for (int i = 0; i < operations; ++i) wrong += team.allreduce(rank, call) != NEZHA_OK ? 1 : 0;
      failed += wrong;
      all.arrive_and_wait();
      if (rank == 0) grown = allocations() - before;
      all.arrive_and_wait();
      if (rank == 0) RecordProperty("round_" + std::to_string(round), static_cast<int>(grown));
    }
  });
  EXPECT_GT(before, 0u) << "operator new is not counted";
  EXPECT_EQ(grown, 0u) << "in each of " << kRounds << " rounds of " << operations << " operations";
  EXPECT_EQ(failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SteadyState,
    testing::Values(std::tuple{"auto", 8}, std::tuple{"auto", 4096}, std::tuple{"auto", 65536},
                    std::tuple{"ring", 4096}, std::tuple{"ring", 65536}, std::tuple{"ring", 600000},
                    std::tuple{"mesh", 4096}, std::tuple{"mesh", 65536}, std::tuple{"mesh", 300000},
                    std::tuple{"single_step", 8}, std::tuple{"single_step", 8192}, std::tuple{"single_step", 32768},
                    std::tuple{"doubling", 8}, std::tuple{"doubling", 8192}, std::tuple{"doubling", 32768},
                    std::tuple{"halving", 8}, std::tuple{"halving", 32768}, std::tuple{"halving", 300000}),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
    });

}  // namespace
}  // namespace nezha::test
