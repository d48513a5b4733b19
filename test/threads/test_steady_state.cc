// SPDX-License-Identifier: BSD-3-Clause
/// Once warm, an allreduce allocates nothing: operator new of the whole program is counted, over all ranks.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <tuple>

#include "../unit/count_allocations.h"
#include "kinds.h"

namespace nezha::test {
namespace {

constexpr int kRanks = 4;
constexpr int kRounds = 30;  // at most: the first that allocates nothing ends it

/// What a rank does again and again; counts what goes wrong.
using Step = std::function<std::uint64_t()>;

/// Every rank does its step, with pauses at first, until a round of steps allocates nothing.
void comes_to_allocate_nothing(Ranks& ranks, const std::function<Step(int)>& step_of, int steps) {
  const int warm_up = slowed_down() ? 50 : 200;
  std::barrier all(kRanks);
  std::size_t before = 0, grown = 1;
  std::atomic<std::uint64_t> failed = 0;
  ranks.run([&](int rank) {
    const Step step = step_of(rank);
    std::mt19937 random(static_cast<unsigned>(rank));
    for (int i = 0; i < warm_up; ++i) {  // with early pieces and queues that are longer than usual
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      step();
    }
    // Memory that grows with the longest queue or the fullest frame so far may grow once more, when the machine is
    // busy: of each lane's and each peer's, to twice its size. It comes to an end; what an operation allocates does
    // not.
    for (int round = 0; round < kRounds && grown != 0; ++round) {
      all.arrive_and_wait();
      if (rank == 0) before = allocations();
      all.arrive_and_wait();
      std::uint64_t wrong = 0;
      for (int i = 0; i < steps; ++i) wrong += step();
      failed += wrong;
      all.arrive_and_wait();
      if (rank == 0) grown = allocations() - before;
      all.arrive_and_wait();
      if (rank == 0) testing::Test::RecordProperty("round_" + std::to_string(round), static_cast<int>(grown));
    }
  });
  EXPECT_GT(before, 0u) << "operator new is not counted";
  EXPECT_EQ(grown, 0u) << "in each of " << kRounds << " rounds of " << steps << " steps";
  EXPECT_EQ(failed, 0u);
}

class SteadyState : public testing::TestWithParam<std::tuple<const char*, std::size_t>> {};

TEST_P(SteadyState, AllocatesNothing) {
  const auto [algorithm, bytes] = GetParam();
  Ranks ranks(kRanks, {{"single_node", "2"}, {"algorithm", algorithm}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("int32_sum");
  comes_to_allocate_nothing(
      ranks,
      [&, bytes = bytes](int rank) -> Step {
        const auto send = std::make_shared<std::vector<std::byte>>(
            make_vector(sum, bytes / sum.element, static_cast<std::size_t>(rank)));
        const auto recv = std::make_shared<std::vector<std::byte>>(send->size());
        const nezha_call_t call = make_call(sum, bytes / sum.element, send->data(), recv->data());
        return [&team, rank, call, send, recv] { return team.allreduce(rank, call) != NEZHA_OK ? 1 : 0; };
      },
      slowed_down() ? 100 : 1000);
}

class SteadyStateOfRequests : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(WithinNode, SteadyStateOfRequests, testing::Bool());

/// Several requests at once; ranks come to them, and are done with them, at different times.
TEST_P(SteadyStateOfRequests, AllocatesNothing) {
  constexpr std::size_t kTogether = 6;
  Ranks ranks(kRanks, {{"single_node", "2"}});
  Team team(ranks, "everybody");
  team.within_node = GetParam();
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("int32_sum");
  comes_to_allocate_nothing(
      ranks,
      [&](int rank) -> Step {
        const auto vectors = std::make_shared<std::array<std::vector<std::byte>, kTogether>>();
        for (std::size_t i = 0; i < kTogether; ++i) vectors->at(i) = make_vector(sum, 50 << (2 * i), 0);
        return [&, rank, vectors] {
          std::array<nezha_request_t*, kTogether> requests{};
          std::uint64_t wrong = 0;
          for (std::size_t i = 0; i < kTogether; ++i) {
            std::vector<std::byte>& vector = vectors->at(i);
            const nezha_call_t call = make_call(sum, vector.size() / sum.element, vector.data(), vector.data());
            wrong += nezha_start(team.handle(rank), &call, &requests[i]) != NEZHA_OK ? 1 : 0;
          }
          for (nezha_request_t* request : requests) {
            while (nezha_request_state(request) == NEZHA_PENDING)
              if (nezha_engine_progress(ranks.at(rank).engine()) == 0) std::this_thread::yield();
            wrong += nezha_request_state(request) != NEZHA_OK ? 1 : 0;
            nezha_request_free(request);
          }
          return wrong;
        };
      },
      100);
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
