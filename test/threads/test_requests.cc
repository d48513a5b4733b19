// SPDX-License-Identifier: BSD-3-Clause
/// Calls that do not block: who goes on with them, on which thread, and how they end.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kinds.h"

namespace nezha::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

const Settings kSettings{{"single_node", "2"}};
constexpr int kRanks = 3;

/// What carries the calls: lanes alone, the memory of one node, or the memory of nodes and lanes between them.
struct Ground {
  const char* name;
  std::vector<std::string> nodes;
  bool within_node, memory;
};

class Requests : public testing::TestWithParam<Ground> {
 protected:
  static Settings with(const char* name, const char* value) {
    Settings settings = kSettings;
    settings.emplace_back(name, value);
    return settings;
  }
  static bool start(Team& team) {
    team.within_node = GetParam().within_node;
    return team.start();
  }
};

const Ground kLanes{"lanes", {}, false, false}, kNode{"node", {}, true, true},
    kNodes{"nodes", {"a", "a", "b"}, false, true}, kInTurn{"nodes_in_turn", {"a", "b", "a"}, false, true};

std::string name_of(const testing::TestParamInfo<Ground>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Grounds, Requests, testing::Values(kLanes, kNode, kNodes, kInTurn), name_of);

class RequestsForLong : public Requests {};  // these take seconds
INSTANTIATE_TEST_SUITE_P(Grounds, RequestsForLong, testing::Values(kLanes, kNodes), name_of);

/// True when `done` came true within some seconds; looks now and then and does nothing else.
template <typename Done>
bool comes_true(const Done& done) {
  const auto limit = steady_clock::now() + seconds(20);
  while (!done() && steady_clock::now() < limit) std::this_thread::sleep_for(milliseconds(1));
  return done();
}

/// One rank's part of a call.
struct Begun {
  std::vector<std::byte> vector;
  nezha_request_t* request = nullptr;

  bool pending() const { return nezha_request_state(request) == NEZHA_PENDING; }
};

Begun begin(Team& team, int rank, const Kind& kind, std::size_t count) {
  Begun begun;
  begun.vector = make_vector(kind, count, static_cast<std::size_t>(rank));
  const nezha_call_t call = make_call(kind, count, begun.vector.data(), begun.vector.data());
  EXPECT_EQ(nezha_start(team.handle(rank), &call, &begun.request), NEZHA_OK);
  return begun;
}

std::vector<std::byte> expected(const Team& team, const Kind& kind, std::size_t count) {
  std::vector<std::vector<std::byte>> vectors;
  for (const int rank : team.members()) vectors.push_back(make_vector(kind, count, static_cast<std::size_t>(rank)));
  return ring_result(kind, vectors);
}

/// The application computes: the engine's own thread goes on.
TEST_P(Requests, GoOnWhileNobodyLooks) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  const Kind& sum = kind("int32_sum");
  for (const std::size_t count : {1, 1000, 1000000}) {
    const std::vector<std::byte> result = expected(team, sum, count);
    ranks.run([&](int rank) {
      Begun begun = begin(team, rank, sum, count);
      EXPECT_TRUE(comes_true([&] { return !begun.pending(); })) << count << " elements";
      EXPECT_EQ(nezha_request_state(begun.request), NEZHA_OK);
      EXPECT_TRUE(begun.vector == result);
      nezha_request_free(begun.request);
    });
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(ranks.at(rank).memory().calls, GetParam().memory ? 3u : 0u);
    EXPECT_EQ(ranks.at(rank).calls(), GetParam().within_node ? 0u : 3u) << "that rails carried";
  }
}

std::int64_t times_that_this_thread_slept() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/// Messages of the host's may be what it waits for, and these do not wake it.
TEST_P(Requests, DoNotPutToSleepWhoLooksAfterThem) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  const Kind& sum = kind("int32_sum");
  ranks.run([&](int rank) {
    if (rank != 0) std::this_thread::sleep_for(milliseconds(100));
    Begun begun = begin(team, rank, sum, 1000);
    const std::int64_t before = times_that_this_thread_slept();
    const auto until = steady_clock::now() + milliseconds(50);
    while (rank == 0 && steady_clock::now() < until) nezha_engine_progress(ranks.at(rank).engine());
    EXPECT_LT(times_that_this_thread_slept() - before, 50);
    EXPECT_TRUE(comes_true([&] { return !begun.pending(); }));
    nezha_request_free(begun.request);
  });
}

/// A thread that is about to call the host.
thread_local bool calls = false;
std::atomic<int> folds = 0, folds_elsewhere = 0;

void fold_int(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
  folds += 1;
  if (!calls) folds_elsewhere += 1;
  for (std::size_t i = 0; i < count; ++i)
    reinterpret_cast<std::int32_t*>(out)[i] =
        reinterpret_cast<const std::int32_t*>(a)[i] + reinterpret_cast<const std::int32_t*>(b)[i];
}

TEST_P(Requests, AreReducedByTheHostOnItsOwnThreadsOnly) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  HostOperation operation{fold_int, alignof(std::int32_t)};
  folds = folds_elsewhere = 0;
  ranks.run([&](int rank) {
    std::vector<std::int32_t> vector(50000, rank + 1);
    nezha_call_t call{NEZHA_ALLREDUCE,  vector.data(),  vector.data(), vector.size(), sizeof vector[0],
                      NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, &operation,    nullptr,       0, 0};
    nezha_request_t* request = nullptr;
    calls = true;
    ASSERT_EQ(nezha_start(team.handle(rank), &call, &request), NEZHA_OK);
    std::this_thread::sleep_for(milliseconds(50));
    while (nezha_request_state(request) == NEZHA_PENDING) nezha_engine_progress(ranks.at(rank).engine());
    EXPECT_EQ(nezha_request_state(request), NEZHA_OK);
    EXPECT_EQ(vector, std::vector<std::int32_t>(vector.size(), 1 + 2 + 3));
    nezha_request_free(request);
  });
  EXPECT_GT(folds, 0);
  EXPECT_EQ(folds_elsewhere, 0);
}

/// Nobody may look at what comes to a rank that computes, and the others wait longer than they would for one that is
/// gone.
TEST_P(RequestsForLong, OfARankThatComputesAreWaitedFor) {
  Ranks ranks(kRanks, with("timeout", "2"), GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  HostOperation operation{fold_int, alignof(std::int32_t)};
  ranks.run([&](int rank) {
    std::vector<std::int32_t> vector(1000, rank + 1);
    nezha_call_t call{};
    call.send = call.recv = vector.data();
    call.count = vector.size();
    call.element = sizeof vector[0];
    call.call_ctx = &operation;
    nezha_request_t* request = nullptr;
    ASSERT_EQ(nezha_start(team.handle(rank), &call, &request), NEZHA_OK);
    if (rank == 0) std::this_thread::sleep_for(milliseconds(4500));
    while (nezha_request_state(request) == NEZHA_PENDING) nezha_engine_progress(ranks.at(rank).engine());
    EXPECT_EQ(nezha_request_state(request), NEZHA_OK);
    EXPECT_EQ(vector, std::vector<std::int32_t>(vector.size(), 1 + 2 + 3));
    nezha_request_free(request);
  });
}

/// Who has one of the host's and does not look makes and accepts other teams' lanes all the same.
TEST_P(Requests, OfTheHostLeaveConnectionsToTheServiceThread) {
  HostOperation operation{fold_int, alignof(std::int32_t)};
  const std::vector<int> begin_them[] = {{0, 1}, {1, 2}}, connect[] = {{0, 2}, {0, 1}};
  for (std::size_t i = 0; i < std::size(connect); ++i) {
    Ranks ranks(kRanks, kSettings, GetParam().nodes);
    Team team(ranks, "of some", begin_them[i]), other(ranks, "of others", connect[i]);
    ASSERT_TRUE(start(team));
    folds_elsewhere = 0;
    calls = true;
    std::vector<std::vector<std::int32_t>> vectors(kRanks, std::vector<std::int32_t>(50000, 1));
    std::vector<nezha_request_t*> requests(kRanks);
    for (const int rank : team.members()) {
      std::vector<std::int32_t>& vector = vectors[static_cast<std::size_t>(rank)];
      const nezha_call_t call{NEZHA_ALLREDUCE,  vector.data(),  vector.data(), vector.size(), sizeof vector[0],
                              NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, &operation,    nullptr,       0, 0};
      ASSERT_EQ(nezha_start(team.handle(rank), &call, &requests[static_cast<std::size_t>(rank)]), NEZHA_OK);
    }
    const int before = folds;
    EXPECT_TRUE(start(other)) << "its lanes have not come up";
    EXPECT_EQ(folds, before) << "nobody has looked";
    ranks.run([&](int rank) {
      nezha_request_t* const request = requests[static_cast<std::size_t>(rank)];
      if (request == nullptr) return;
      calls = true;
      while (nezha_request_state(request) == NEZHA_PENDING) nezha_engine_progress(ranks.at(rank).engine());
      EXPECT_EQ(vectors[static_cast<std::size_t>(rank)], std::vector<std::int32_t>(50000, 2));
      nezha_request_free(request);
    });
    EXPECT_EQ(folds_elsewhere, 0);
  }
}

/// More than may be under way, begun by one thread and looked after by others, with blocking calls in between.
TEST_P(Requests, AnyNumberIsUnderWayOnAnyThread) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team one(ranks, "one"), other(ranks, "other");
  ASSERT_TRUE(start(one));
  ASSERT_TRUE(start(other));
  const Kind& sum = kind("int32_sum");
  ranks.run([&](int rank) {
    std::atomic<bool> over = false;
    std::vector<std::thread> lookers;
    for (int i = 0; i < 2; ++i)
      lookers.emplace_back([&] {
        while (!over) nezha_engine_progress(ranks.at(rank).engine());
      });
    std::vector<Begun> begun;
    for (std::size_t i = 0; i < 300; ++i) {
      begun.push_back(begin(i % 3 == 0 ? other : one, rank, sum, 1 + 37 * (i % 50)));
      if (i % 100 != 50) continue;
      std::vector<std::byte> vector = make_vector(sum, 10, static_cast<std::size_t>(rank));
      EXPECT_EQ(one.allreduce(rank, make_call(sum, 10, vector.data(), vector.data())), NEZHA_OK);
      EXPECT_TRUE(vector == expected(one, sum, 10));
    }
    for (std::size_t i = 0; i < begun.size(); ++i) {
      EXPECT_TRUE(comes_true([&] { return !begun[i].pending(); })) << "request " << i;
      EXPECT_TRUE(begun[i].vector == expected(one, sum, 1 + 37 * (i % 50))) << "request " << i;
      nezha_request_free(begun[i].request);
    }
    over = true;
    for (std::thread& looker : lookers) looker.join();
  });
}

/// A large one that only the host can reduce, on the thread that is in blocking calls meanwhile.
TEST_P(Requests, GoOnBesideBlockingCalls) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  const Kind& sum = kind("int32_sum");
  HostOperation operation{fold_int, alignof(std::int32_t)};
  ranks.run([&](int rank) {
    std::vector<std::int32_t> vector(400000, rank + 1);
    nezha_call_t call{NEZHA_ALLREDUCE,  vector.data(),  vector.data(), vector.size(), sizeof vector[0],
                      NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, &operation,    nullptr,       0, 0};
    nezha_request_t* request = nullptr;
    ASSERT_EQ(nezha_start(team.handle(rank), &call, &request), NEZHA_OK);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::byte> small = make_vector(sum, 10, static_cast<std::size_t>(rank));
      ASSERT_EQ(team.allreduce(rank, make_call(sum, 10, small.data(), small.data())), NEZHA_OK);
      EXPECT_TRUE(small == expected(team, sum, 10));
    }
    while (nezha_request_state(request) == NEZHA_PENDING) nezha_engine_progress(ranks.at(rank).engine());
    EXPECT_EQ(vector, std::vector<std::int32_t>(vector.size(), 1 + 2 + 3));
    nezha_request_free(request);
  });
}

TEST_P(Requests, EndWithAnErrorWhereAMemberGivesUp) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  const Kind& sum = kind("int32_sum");
  ranks.run([&](int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(50));
      return nezha_team_give_up(team.handle(rank), "it has no more to say");
    }
    std::vector<Begun> begun;
    for (int i = 0; i < 100; ++i) begun.push_back(begin(team, rank, sum, 100));
    for (const Begun& each : begun) {
      EXPECT_TRUE(comes_true([&] { return !each.pending(); }));
      EXPECT_EQ(nezha_request_state(each.request), NEZHA_ERR_FAILED);
      nezha_request_free(each.request);
    }
    nezha_request_t* request = nullptr;
    std::vector<std::byte> vector = make_vector(sum, 10, 0);
    const nezha_call_t call = make_call(sum, 10, vector.data(), vector.data());
    EXPECT_EQ(nezha_start(team.handle(rank), &call, &request), NEZHA_ERR_FAILED);
  });
}

TEST_P(Requests, EndWithTheirTeam) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  Team team(ranks, "everybody");
  ASSERT_TRUE(start(team));
  Begun begun = begin(team, 0, kind("int32_sum"), 10);
  team.destroy(0);
  EXPECT_EQ(nezha_request_state(begun.request), NEZHA_ERR_FAILED);
}

/// A thread that looks after another team's call may sleep on the memory of this one.
TEST_P(Requests, EndWithTheirTeamWhileAThreadSleepsOnItsMemory) {
  Ranks ranks(kRanks, kSettings, GetParam().nodes);
  std::atomic<bool> over = false;
  std::thread looker([&] {
    while (!over) nezha_engine_progress(ranks.at(0).engine());
  });
  for (int i = 0; i < 20; ++i) {
    Team team(ranks, "everybody");
    EXPECT_TRUE(start(team));
    Begun begun = begin(team, 0, kind("int32_sum"), 10);
    std::this_thread::sleep_for(milliseconds(3));
    team.destroy(0);
    EXPECT_EQ(nezha_request_state(begun.request), NEZHA_ERR_FAILED);
    nezha_request_free(begun.request);
  }
  over = true;
  looker.join();
}

}  // namespace
}  // namespace nezha::test
