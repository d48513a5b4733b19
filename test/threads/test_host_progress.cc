// SPDX-License-Identifier: BSD-3-Clause
/// The host's progress runs code that is not ours, for as long as that likes: the rank still answers its peers, what can go on
/// does, and that code may call the engine itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kinds.h"

namespace nezha::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kRanks = 3;
/// Peers give up a rank that does not answer for two seconds.
const Settings kSettings{{"single_node", "2"}, {"timeout", "2"}};

/// What carries the calls: lanes alone, the memory of one node, or the memory of nodes and lanes between them.
struct Ground {
  const char* name;
  std::vector<std::string> nodes;
  bool within_node;
};

class HostProgress : public testing::TestWithParam<Ground> {
 protected:
  /// Ends the program if a call hangs.
  HostProgress() { alarm(120); }
  ~HostProgress() override { alarm(0); }

  static bool start(Team& team) {
    team.within_node = GetParam().within_node;
    const bool ready = team.start();
    std::this_thread::sleep_for(milliseconds(200));  // until the service threads have nothing to do
    return ready;
  }
};

INSTANTIATE_TEST_SUITE_P(Grounds, HostProgress,
                         testing::Values(Ground{"lanes", {}, false}, Ground{"node", {}, true}, Ground{"nodes", {"a", "a", "b"}, false}),
                         [](const auto& info) { return std::string(info.param.name); });

/// Has the next call of that rank's host, and no other, do `what`.
void once(Rank& rank, const std::function<void()>& what) {
  rank.on_progress([what, done = std::make_shared<std::atomic<bool>>(false)] {
    if (!done->exchange(true)) what();
  });
}

/// True when `done` came true within some seconds.
template <typename Done>
bool comes_true(const Done& done) {
  const auto limit = steady_clock::now() + seconds(20);
  while (!done() && steady_clock::now() < limit) std::this_thread::sleep_for(milliseconds(1));
  return done();
}

void sum_up(Team& team, int rank, std::size_t count = 100) {
  const Kind& sum = kind("int32_sum");
  std::vector<std::vector<std::byte>> vectors;
  for (const int member : team.members()) vectors.push_back(make_vector(sum, count, static_cast<std::size_t>(member)));
  std::vector<std::byte> vector = vectors[static_cast<std::size_t>(rank)];
  EXPECT_EQ(team.allreduce(rank, make_call(sum, count, vector.data(), vector.data())), NEZHA_OK) << "rank " << rank;
  EXPECT_TRUE(same_bytes(vector, ring_result(sum, vectors))) << "rank " << rank;
}

void fold_int(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    reinterpret_cast<std::int32_t*>(out)[i] =
        reinterpret_cast<const std::int32_t*>(a)[i] + reinterpret_cast<const std::int32_t*>(b)[i];
}

/// The same by a reduction of the host's.
void sum_up_by_host(Team& team, int rank) {
  HostOperation operation{fold_int, alignof(std::int32_t)};
  std::vector<std::int32_t> vector(300000, rank + 1);
  const nezha_call_t call{NEZHA_ALLREDUCE,  vector.data(),  vector.data(), vector.size(), sizeof vector[0],
                          NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, &operation,    nullptr,       0, 0};
  EXPECT_EQ(team.allreduce(rank, call), NEZHA_OK) << "rank " << rank;
  EXPECT_EQ(vector, std::vector<std::int32_t>(vector.size(), 1 + 2 + 3)) << "rank " << rank;
}

/// The service thread goes on with the call that the driver has left.
TEST_P(HostProgress, ThatStaysAwayLeavesCallsToGoOn) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  std::atomic<bool> away = false;
  std::atomic<int> over = 0;
  once(ranks.at(0), [&] {
    away = true;
    EXPECT_TRUE(comes_true([&] { return over == kRanks - 1; })) << "the others still wait";
  });
  ranks.run([&](int rank) {
    if (rank != 0) {
      EXPECT_TRUE(comes_true([&] { return away.load(); }));
    }
    sum_up(team, rank, 300000);
    ++over;
  });
}

/// What the host has to reduce cannot go on, but nobody takes the rank for dead.
TEST_P(HostProgress, ThatStaysAwayIsNotTakenForDead) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  once(ranks.at(0), [] { std::this_thread::sleep_for(milliseconds(4500)); });
  ranks.run([&](int rank) {
    if (rank != 0) std::this_thread::sleep_for(milliseconds(50));
    sum_up_by_host(team, rank);
  });
}

TEST_P(HostProgress, MayCall) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team outer(ranks, "outer"), inner(ranks, "inner");
  ASSERT_TRUE(start(outer) && start(inner));
  for (int times = 0; times < 3; ++times) {
    once(ranks.at(0), [&] { sum_up(inner, 0); });
    ranks.run([&](int rank) {
      if (rank != 0) sum_up(inner, rank);
      sum_up(outer, rank);
    });
  }
}

/// Which waits for a call of another thread, that only a thread of the host's can go on with.
TEST_P(HostProgress, ThatStaysAwayLeavesTheDriveToOthers) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team one(ranks, "one"), other(ranks, "other");
  ASSERT_TRUE(start(one) && start(other));
  std::atomic<bool> away = false, over = false;
  once(ranks.at(0), [&] {
    away = true;
    EXPECT_TRUE(comes_true([&] { return over.load(); })) << "the other thread still waits";
  });
  ranks.run([&](int rank) {
    std::thread beside([&] {
      EXPECT_TRUE(comes_true([&] { return away.load(); }));
      sum_up_by_host(other, rank);
      if (rank == 0) over = true;
    });
    if (rank != 0) beside.join();
    sum_up(one, rank);
    if (rank == 0) beside.join();
  });
}

/// Of a rail that moves only in the host's threads, in no call, while the service thread has nothing to do: afterwards the rank
/// computes, and that thread still hears what comes by other rails, the only ones that the others have.
TEST(HostProgressOfRails, LeavesTheRankListening) {
  Post post;
  Settings with_host = kSettings;
  with_host.emplace_back("btl", "1");
  Ranks ranks(kRanks, [&](int rank) { return rank == 0 ? with_host : kSettings; }, {}, &post);
  ASSERT_NE(nezha_engine_host_carries(ranks.at(0).engine()), 0);
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (int i = 0; i < 50; ++i) {
    ranks.at(0).poll();
    std::this_thread::sleep_for(milliseconds(10));
  }
  ranks.run([&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(milliseconds(4500));
    sum_up(team, rank);
  });
}

}  // namespace
}  // namespace nezha::test
