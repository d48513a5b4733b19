// SPDX-License-Identifier: BSD-3-Clause
/// Once warm, an allreduce allocates nothing: operator new of the whole program is counted, over all ranks.
#include <gtest/gtest.h>

#include <barrier>
#include <tuple>

#include "kinds.h"
#include "../unit/count_allocations.h"

namespace nezha::test {
namespace {

constexpr int kRanks = 4;
constexpr int kWarmUp = 200;
constexpr int kOperations = 1000;

class SteadyState : public testing::TestWithParam<std::tuple<const char*, std::size_t>> {};

TEST_P(SteadyState, AllocatesNothing) {
  const auto [algorithm, bytes] = GetParam();
  Ranks ranks(kRanks, {{"single_node", "2"}, {"algorithm", algorithm}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("int32_sum");
  std::barrier all(kRanks);
  std::size_t before = 0, after = 0;
  std::uint64_t failed = 0;
  ranks.run([&](int rank) {
    const std::vector<std::byte> send = make_vector(sum, bytes / sum.element, static_cast<std::size_t>(rank));
    std::vector<std::byte> recv(send.size());
    const nezha_allreduce_t call = make_call(sum, bytes / sum.element, send.data(), recv.data());
    for (int i = 0; i < kWarmUp; ++i) team.allreduce(rank, call);
    all.arrive_and_wait();
    if (rank == 0) before = allocations();
    all.arrive_and_wait();
    std::uint64_t wrong = 0;
    for (int i = 0; i < kOperations; ++i) wrong += team.allreduce(rank, call) != NEZHA_OK ? 1 : 0;
    all.arrive_and_wait();
    if (rank == 0) after = allocations();
    all.arrive_and_wait();
    if (rank == 0) failed = wrong;
  });
  EXPECT_GT(before, 0u) << "operator new is not counted";
  EXPECT_EQ(after - before, 0u) << "in " << kOperations << " operations";
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(ranks.at(0).calls(), static_cast<std::uint64_t>(kWarmUp + kOperations));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SteadyState,
    testing::Values(std::tuple{"auto", 8}, std::tuple{"auto", 4096}, std::tuple{"auto", 65536},
                    std::tuple{"ring", 4096}, std::tuple{"ring", 65536}, std::tuple{"ring", 600000},
                    std::tuple{"mesh", 4096}, std::tuple{"mesh", 65536}, std::tuple{"mesh", 300000},
                    std::tuple{"single_step", 8}, std::tuple{"single_step", 8192}, std::tuple{"single_step", 32768},
                    std::tuple{"doubling", 8}, std::tuple{"doubling", 8192}, std::tuple{"doubling", 32768}),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
    });

}  // namespace
}  // namespace nezha::test
