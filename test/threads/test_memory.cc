// SPDX-License-Identifier: BSD-3-Clause
/// Where the system refuses memory while an engine, a peer or a team is made there is none, nothing of it is left, and the
/// next try works. Each request of the calling thread is refused in turn.
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <vector>

#include "kinds.h"
#include "ranks.h"

namespace {

constexpr long kNone = -1;
thread_local long requests_left = kNone;  ///< until one is refused
thread_local bool refused = false;
thread_local long live_bytes = 0;  ///< of this thread's requests; it gives its own back

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (requests_left != kNone && requests_left-- == 0) {
    refused = true;
    return nullptr;
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  live_bytes += static_cast<long>(malloc_usable_size(memory));
  return memory;
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  live_bytes -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace nezha::test {
namespace {

/// Whether `make` came so far that its request number `which` was refused.
template <typename Make>
bool refuses(long which, Make make) {
  refused = false;
  requests_left = which;
  make();
  requests_left = kNone;
  return refused;
}

bool signals_pass() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGTERM) == 0;
}

const Settings kHere{{"single_node", "2"}};

TEST(RefusedMemory, MakesNoHalfOfAnEngine) {
  nezha_config_t* config = nezha_config_create();
  const nezha_host_t host{nullptr, nullptr, nullptr, [](void*) { return 0; }, nullptr, nullptr, nullptr, nullptr};
  const nezha_self_t self{0, "here", 0, 0};
  long which = 0;
  const auto make = [&] {
    nezha_engine_t* engine = nullptr;
    char why[256] = "";
    const int result = nezha_engine_create(config, &host, &self, &engine, why, sizeof why);
    requests_left = kNone;
    EXPECT_EQ(engine == nullptr, result == NEZHA_ERR_MEMORY) << "request " << which;
    EXPECT_EQ(std::string(why).empty(), result == NEZHA_OK) << why;
    nezha_engine_destroy(engine);
  };
  for (; refuses(which, make); ++which) {
    const long before = live_bytes;
    refuses(which, make);
    EXPECT_EQ(live_bytes, before) << "request " << which;
  }
  EXPECT_GT(which, 10);
  nezha_config_destroy(config);
}

TEST(RefusedMemory, MakesNoHalfOfAPeer) {
  Rank first(0, "here", kHere), second(1, "here", kHere);
  const std::vector<std::byte> address = second.address();
  nezha_peer_t* peer = nullptr;
  const auto make = [&] { peer = nezha_engine_peer(first.engine(), address.data(), address.size(), 1, nullptr, 0); };
  long which = 0;
  for (; refuses(which, make) && peer == nullptr; ++which) continue;
  EXPECT_GT(which, 5);
  EXPECT_NE(peer, nullptr);
  make();
  nezha_peer_t* peers[] = {nullptr, peer};
  const nezha_team_spec_t spec{"both", 2, 0, peers, 0, 0};
  nezha_team_t* team = nezha_team_create(first.engine(), &spec);
  ASSERT_NE(team, nullptr);
  std::uint64_t words[NEZHA_VOTE_WORDS];
  nezha_team_vote(team, words);
  EXPECT_EQ(words[0] & 2, 0u) << "it believes that there is no lane to the peer, nor will be one";
  nezha_team_destroy(team);
}

/// What each rank's call returns.
std::vector<int> call_all(Ranks& ranks, Team& team, const std::function<void(int)>& before = [](int) {}) {
  std::vector<int> results(static_cast<std::size_t>(ranks.size()));
  const Kind& bits = kind("uint8_bor");
  ranks.run([&](int rank) {
    std::vector<std::byte> vector(4000, std::byte(1 << rank));
    before(rank);
    results[static_cast<std::size_t>(rank)] = team.allreduce(rank, make_call(bits, vector.size(), vector.data(), vector.data()));
    requests_left = kNone;
  });
  return results;
}

const std::vector<int> kAllFailed(3, NEZHA_ERR_FAILED), kAllGood(3, NEZHA_OK);

/// The other ranks' teams are ready, and wait for this one in their first call.
TEST(RefusedMemory, WhenATeamIsReadyIsAnErrorOnAllRanks) {
  Ranks ranks(3, kHere);
  long which = 0;
  for (bool any = true; any; ++which) {
    Team team(ranks, "everybody");
    any = false;
    team.before_deciding = [&](int rank) {
      if (rank != 0) return;
      refused = false;
      requests_left = which;
    };
    team.after_deciding = [&](int rank) {
      requests_left = kNone;
      if (rank == 0) any = refused;
    };
    ASSERT_TRUE(team.start());
    EXPECT_EQ(call_all(ranks, team), any ? kAllFailed : kAllGood) << "request " << which;
  }
  EXPECT_GT(which, 2);
}

TEST(RefusedMemory, OfATableIsAnErrorOnAllRanks) {
  Ranks ranks(3, {{"single_node", "1"}, {"learn", "1"}, {"reproducible", "1"}});
  for (const long which : {0, 1}) {
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    EXPECT_EQ(call_all(ranks, team, [&](int rank) { requests_left = rank == 1 ? which : kNone; }), kAllFailed) << which;
    EXPECT_EQ(call_all(ranks, team), kAllFailed);
  }
  Team team(ranks, "everybody else");
  ASSERT_TRUE(team.start());
  EXPECT_EQ(call_all(ranks, team), kAllGood);
}

TEST(RefusedMemory, MakesNoHalfOfATeam) {
  Ranks ranks(2, kHere);
  nezha_peer_t* peers[] = {nullptr, ranks.peer(0, 1)};
  const nezha_team_spec_t spec{"both", 2, 0, peers, 0, 0};
  nezha_team_t* team = nullptr;
  const auto make = [&] {
    team = nezha_team_create(ranks.at(0).engine(), &spec);
    requests_left = kNone;
    EXPECT_TRUE(team != nullptr || refused);  // sorting does without the memory that it asks for
    if (team != nullptr) nezha_team_destroy(team);
  };
  long which = 0;
  for (; refuses(which, make); ++which) EXPECT_TRUE(signals_pass());
  EXPECT_GT(which, 5);
  for (which = 0; refuses(which, make); ++which) {  // the service thread runs by now, and everything is as large as it gets
    const long before = live_bytes;
    refuses(which, make);
    EXPECT_EQ(live_bytes, before) << "request " << which;
  }
  Team both(ranks, "both again");
  ASSERT_TRUE(both.start());
  const Kind& bits = kind("uint8_bor");
  ranks.run([&](int rank) {
    std::vector<std::byte> vector(4000, std::byte(1 << rank));
    EXPECT_EQ(both.allreduce(rank, make_call(bits, vector.size(), vector.data(), vector.data())), NEZHA_OK);
    EXPECT_TRUE(vector == std::vector(vector.size(), std::byte(3)));
  });
}

}  // namespace
}  // namespace nezha::test
