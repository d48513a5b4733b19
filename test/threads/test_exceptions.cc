// SPDX-License-Identifier: BSD-3-Clause
/// Hosts that throw in the middle of a call, or give up before it: every rank gets an error, and the engine goes on.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

#include "kinds.h"
#include "ranks.h"

namespace nezha::test {
namespace {

void throws(const std::byte*, const std::byte*, std::byte*, std::size_t) { throw std::runtime_error("no sum today"); }
void adds(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::byte>(std::to_integer<int>(a[i]) + std::to_integer<int>(b[i]));
}

constexpr std::size_t kBytes = 100000;

/// One allreduce of bytes by all; the reduction of rank `broken` throws. What each call returned.
std::array<int, 3> call(Ranks& ranks, Team& team, int broken) {
  std::array<int, 3> results{};
  ranks.run([&](int rank) {
    HostOperation operation{rank == broken ? throws : adds, 1};
    std::vector<std::byte> vector(kBytes, std::byte{1});
    const nezha_call_t what{NEZHA_ALLREDUCE, vector.data(), vector.data(), kBytes, 1, NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, &operation, nullptr, 0, 0};
    results[static_cast<std::size_t>(rank)] = team.allreduce(rank, what);
    if (broken < 0) {
      EXPECT_EQ(vector, std::vector(kBytes, std::byte{3}));
    }
  });
  return results;
}

std::string error_of(Team& team, int rank) {
  std::array<char, 512> text{};
  nezha_team_error(team.handle(rank), text.data(), text.size());
  return text.data();
}

class Exceptions : public testing::TestWithParam<const char*> {};

TEST_P(Exceptions, OfAReductionAreAnErrorOnAllRanks) {
  Ranks ranks(3, {{"single_node", "2"}, {"algorithm", GetParam()}});
  for (int times = 0; times < 3; ++times) {
    Team breaks(ranks, "breaks"), works(ranks, "works");
    ASSERT_TRUE(breaks.start() && works.start());
    constexpr std::array kFailed{static_cast<int>(NEZHA_ERR_FAILED), static_cast<int>(NEZHA_ERR_FAILED),
                                 static_cast<int>(NEZHA_ERR_FAILED)};
    EXPECT_EQ(call(ranks, breaks, 1), kFailed);
    EXPECT_NE(error_of(breaks, 1).find("this rank on here cannot go on: an exception: no sum today"), std::string::npos)
        << error_of(breaks, 1);
    for (const int rank : {0, 2})
      EXPECT_NE(error_of(breaks, rank).find("rank 1 on here gave up"), std::string::npos) << error_of(breaks, rank);
    EXPECT_EQ(call(ranks, breaks, 1), kFailed) << "later calls too";
    EXPECT_EQ(call(ranks, works, -1), (std::array{0, 0, 0})) << "the engine goes on";
  }
}

TEST_P(Exceptions, OfAHostThatGivesUpAreAnErrorOnAllRanks) {
  Ranks ranks(3, {{"single_node", "2"}, {"algorithm", GetParam()}});
  Team team(ranks, "team");
  ASSERT_TRUE(team.start());
  ranks.run([&](int rank) {
    std::vector<std::byte> vector(kBytes);
    const nezha_call_t what{NEZHA_ALLREDUCE, vector.data(), vector.data(), kBytes, 1, NEZHA_UINT8, NEZHA_SUM, nullptr, nullptr, 0, 0};
    if (rank == 1) nezha_team_give_up(team.handle(rank), "no device today");
    EXPECT_EQ(team.allreduce(rank, what), NEZHA_ERR_FAILED);
  });
  EXPECT_NE(error_of(team, 1).find("no device today"), std::string::npos) << error_of(team, 1);
}

/// Nobody but the caller of another team's call is there to reduce it.
class ExceptionsOfRequests : public testing::TestWithParam<bool> {};

TEST_P(ExceptionsOfRequests, AreAnErrorOfTheirTeamOnly) {
  Ranks ranks(3, {{"single_node", "2"}});
  Team breaks(ranks, "breaks"), works(ranks, "works");
  breaks.within_node = GetParam();
  ASSERT_TRUE(breaks.start() && works.start());
  ranks.run([&](int rank) {
    HostOperation operation{rank == 1 ? throws : adds, 1};
    std::vector<std::byte> vector(kBytes, std::byte{1});
    const nezha_call_t what{NEZHA_ALLREDUCE, vector.data(), vector.data(), kBytes, 1, NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, &operation, nullptr, 0, 0};
    nezha_request_t* request = nullptr;
    EXPECT_EQ(nezha_start(breaks.handle(rank), &what, &request), NEZHA_OK);
    std::uint8_t one = 1;
    const nezha_call_t other{NEZHA_ALLREDUCE, &one, &one, 1, 1, NEZHA_UINT8, NEZHA_MAX, nullptr, nullptr, 0, 0};
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int calls = 0; calls < 100; ++calls) EXPECT_EQ(works.allreduce(rank, other), NEZHA_OK) << calls;
    while (nezha_request_state(request) == NEZHA_PENDING && std::chrono::steady_clock::now() < limit)
      nezha_engine_progress(ranks.at(rank).engine());
    EXPECT_EQ(nezha_request_state(request), NEZHA_ERR_FAILED);
    nezha_request_free(request);
  });
  EXPECT_NE(error_of(breaks, 1).find("no sum today"), std::string::npos) << error_of(breaks, 1);
}

INSTANTIATE_TEST_SUITE_P(Grounds, ExceptionsOfRequests, testing::Bool(),
                         [](const auto& info) { return info.param ? "memory" : "lanes"; });

INSTANTIATE_TEST_SUITE_P(Algorithms, Exceptions, testing::Values("ring", "mesh", "single_step", "doubling", "halving"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace nezha::test
