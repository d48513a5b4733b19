// SPDX-License-Identifier: BSD-3-Clause
/// Two processes of a node whose teams add up in memory: what they do for those while no call is under way.
#include <gtest/gtest.h>

#include "core_case.h"

namespace nezha {
namespace {

/// Counts how often it is asked for another process's memory.
class CountingSystem final : public NodeSystem {
 public:
  int read(pid_t process, std::uint64_t from, std::byte* to, std::size_t bytes) const override {
    ++reads;
    return NodeSystem::read(process, from, to, bytes);
  }
  mutable std::size_t reads = 0;
};

class OnOneNode : public testing::Test {
 protected:
  using Words = std::array<std::uint64_t, NEZHA_VOTE_WORDS>;

  OnOneNode() {
    for (Core& core : cores) {
      core.share_by({.system = &system});
      EXPECT_TRUE(core.open_acceptor().ok());
    }
    for (const std::size_t rank : {0, 1}) {
      Status why;
      peers[rank] = cores[rank].add_peer(encode_address(cores[1 - rank].self()), true, why);
      EXPECT_TRUE(why.ok()) << why.text();
    }
  }

  void step(Nanoseconds time) {
    clock.time += time;
    for (Core& core : cores) core.step(clock.now());
  }
  void make_ready_team() {
    Team* const teams[] = {cores[0].create_team("team", 0, {nullptr, peers[0]}, 0, true),
                           cores[1].create_team("team", 1, {peers[1], nullptr}, 0, true)};
    for (int i = 0; i < 100 && teams[0]->state() == NEZHA_TEAM_WIRING; ++i) {
      Words words{}, others{};
      cores[0].vote(*teams[0], words);
      cores[1].vote(*teams[1], others);
      for (std::size_t word = 0; word < words.size(); ++word) words[word] |= others[word];
      for (const std::size_t rank : {0, 1}) cores[rank].decide(*teams[rank], words);
      step(kMillisecond);
    }
    ASSERT_EQ(teams[0]->state(), NEZHA_TEAM_READY);
  }

  Config config;
  StoppedClock clock;
  CountingSystem system;
  std::array<Core, 2> cores{Core{config, clock, {}, 0, "here", 1000, {}}, Core{config, clock, {}, 1, "here", 1001, {}}};
  std::array<Peer*, 2> peers{};  ///< the other one, by rank
};

/// A few of them are, ten times a second.
TEST_F(OnOneNode, ManyTeamsAtRestAreLookedAtInTurn) {
  constexpr std::size_t kTeams = 200, kMembers = 2, kProcesses = 2, kAll = kTeams * kMembers * kProcesses;
  for (std::size_t i = 0; i < kTeams; ++i) make_ready_team();
  step(kSecond);
  system.reads = 0;
  for (int i = 0; i < 100; ++i) step(10 * kMillisecond);
  EXPECT_GT(system.reads, kAll) << "none is left out";
  EXPECT_LT(system.reads, 10 * kAll / 2);
}

/// Also before their first call, for which they may wait as long as they live.
TEST_F(OnOneNode, ManyTeamsWithoutACallAreLookedAtInTurn) {
  constexpr std::size_t kTeams = 200, kMembers = 2, kProcesses = 2, kAll = kTeams * kMembers * kProcesses;
  for (std::size_t i = 0; i < kTeams; ++i) {
    cores[0].create_team("team " + std::to_string(i), 0, {nullptr, peers[0]}, 0, true);
    cores[1].create_team("team " + std::to_string(i), 1, {peers[1], nullptr}, 0, true);
  }
  for (int i = 0; i < 300; ++i) step(kMillisecond);
  system.reads = 0;
  for (int i = 0; i < 100; ++i) step(10 * kMillisecond);
  EXPECT_LT(system.reads, 10 * kAll / 2);
}

/// Another rank may have the shortest timeout that there can be.
TEST_F(OnOneNode, LifeIsShownOftenWhateverTheOwnTimeout) {
  ASSERT_GE(config.timeout, 8);
  make_ready_team();
  for (int i = 0; i < 20; ++i) {
    step(10 * kMillisecond);
    ASSERT_NE(cores[0].next_beat(), 0);
    ASSERT_LE(cores[0].next_beat() - clock.now(), kSecond / 8);
  }
}

}  // namespace
}  // namespace nezha
