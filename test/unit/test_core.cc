// SPDX-License-Identifier: BSD-3-Clause
/// What a process's peers may cost, and when their team may begin.
#include "core_case.h"
#include "engine/combine.h"
#include "engine/memory.h"

namespace nezha {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

/// A team of this process, which is rank 0, and one other.
class Agreed : public OneOfAJob {
 protected:
  /// What they come to when the other has nothing against it.
  nezha_team_state_t agree() {
    core.step(clock.now());
    std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
    core.vote(*team, words);
    return core.decide(*team, words);
  }
  void add_pair(std::size_t rails = 1) {
    add_peer(rails);
    team = core.create_team("both", 0, {nullptr, latest});
  }

  Team* team = nullptr;
};

/// Else the first call would wait for the lane, and in vain for one that does not come back, while the incumbent might do.
TEST_F(Agreed, WhereAPairHasJustLostItsLaneNotToBegin) {
  add_pair();
  core.lane_up(lane);
  latest->trunk->lane_down(lane, {Code::io, "gone"});
  EXPECT_EQ(agree(), NEZHA_TEAM_WIRING);
  EXPECT_EQ(agree(), NEZHA_TEAM_WIRING) << "it is not declined either: the lane may come back";
  core.lane_up(lane);
  EXPECT_EQ(agree(), NEZHA_TEAM_READY);
}

/// Another member was ready first, began, and gave up: else the first call here would wait for it.
TEST_F(Agreed, ATeamThatHasFailedElsewhereBeforeItIsReadyHere) {
  add_pair();
  core.lane_up(lane);
  core.step(clock.now());
  std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
  core.vote(*team, words);
  for (const std::uint64_t word : words) core.team_failed(word, {Failure::Why::broken, 1, 1});  // one of them is its id
  EXPECT_EQ(core.decide(*team, words), NEZHA_TEAM_READY);
  EXPECT_NE(team->error().find("rank 1 on there gave up"), std::string::npos) << team->error();
}

/// Two ranks that notice the same, and what carries their calls.
class LearnsWithALaneLost : public Agreed {
 protected:
  LearnsWithALaneLost() { add_pair(2); }
  AlgorithmChoice call() {
    while (team->must_agree(Collective::allreduce, 8, 4)) {
      const Call words = team->agreement(Collective::allreduce, 8, 4);
      if (team->table().adds())
        for (std::size_t i = 0; i < words.count; ++i) reinterpret_cast<std::uint64_t*>(words.recv)[i] *= 2;
      team->table().agreed();
    }
    const AlgorithmChoice way = team->table().next(8, 4).algorithm;
    team->table().took(way == AlgorithmChoice::incumbent ? 10 * kMicrosecond : 100 * kMicrosecond);
    return way;
  }
  std::size_t left(std::size_t calls) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < calls; ++i) left += call() == AlgorithmChoice::incumbent ? 1 : 0;
    return left;
  }
};

/// The incumbent may run over the network that is away.
TEST_F(LearnsWithALaneLost, ATeamThatWasMadeLaterLeavesTheIncumbentAlone) {
  core.lane_up(lane);
  core.lane_up(other_lane);
  ASSERT_EQ(agree(), NEZHA_TEAM_READY);
  EXPECT_GT(left(100), 50u);
  latest->trunk->lane_down(lane, {Code::io, "gone"});
  team = core.create_team("later", 0, {nullptr, latest});
  ASSERT_EQ(agree(), NEZHA_TEAM_READY);
  EXPECT_EQ(left(300'000), 0u);
  core.lane_up(lane);
  EXPECT_GT(left(300'000), 0u);
}

/// A program may have a communicator for each of many purposes, and use few at a time.
class ManyTeams : public Agreed {
 protected:
  ManyTeams() {
    add_peer(2);
    core.lane_up(lane);
    core.lane_up(other_lane);
    for (int i = 0; i < 1000; ++i) teams.push_back(core.create_team("one of many", 0, {nullptr, latest}));
  }
  void make_ready() {
    for (Team* const each : teams) {
      team = each;
      ASSERT_EQ(agree(), NEZHA_TEAM_READY);
      ASSERT_TRUE(team->lacks_rates());
    }
  }
  /// By the last step of that time.
  std::size_t attended_after(Nanoseconds time) {
    for (const Nanoseconds until = clock.time + time; clock.time < until; core.step(clock.now()))
      clock.time += kSecond / 10;
    return core.attended();
  }

  std::vector<Team*> teams;
};

TEST_F(ManyTeams, AreNotLookedAtWhileTheyRest) {
  EXPECT_EQ(core.attended(), teams.size()) << "all are being wired";
  make_ready();
  EXPECT_EQ(attended_after(kSecond), 0u);
  EXPECT_FALSE(core.wiring());
}

TEST_F(ManyTeams, AreNotLookedAtWhereTheirMembersNeverCome) {
  EXPECT_EQ(attended_after(10 * kSecond), 0u);
  make_ready();
}

TEST_F(ManyTeams, AreLookedAtWhileTheirLanesAreSampled) {
  make_ready();
  core.step(clock.now());
  core.sample(*team, MiB);
  EXPECT_TRUE(core.wiring());
  EXPECT_EQ(attended_after(kSecond / 2), 1u);
  EXPECT_FALSE(lane.frames.empty() || other_lane.frames.empty());
  EXPECT_EQ(attended_after(kSecond), 0u);
  EXPECT_EQ(latest->sample, Sample::done);
}

TEST_F(ManyTeams, AreLookedAtWhileTheyHaveAnOperation) {
  make_ready();
  core.step(clock.now());
  std::vector<std::uint64_t> words(1);
  core.start(*team, combine(words, NEZHA_SUM), AlgorithmChoice::mesh);
  EXPECT_EQ(attended_after(5 * kSecond), 1u) << "it waits for the other's words";
  core.destroy_team(*team);
  EXPECT_EQ(core.attended(), 0u);
}

class WantedRails : public OneOfAJob {
 protected:
  WantedRails() : OneOfAJob(5) {}

  /// What rank 0's `rails` are here, where it has ours the other way round, under these names.
  RailSet here(RailSet rails, const std::string& first, const std::string& second, bool same_node) {
    std::vector<RailAddress> theirs = some_rails(2);
    std::swap(theirs[0], theirs[1]);
    theirs[0].name = first;
    theirs[1].name = second;
    add_peer(theirs, same_node);
    return core.rails_here(*core.create_team("team", 1, {latest, nullptr}), rails);
  }
};

TEST_F(WantedRails, OfAnotherNodeAreThoseThatAreConnectedToThem) {
  EXPECT_EQ(here(only(0), "ib0", "eth1", false), only(1));
  EXPECT_EQ(here(only(1), "ib0", "eth1", false), only(0));
  EXPECT_EQ(here(only(0) | only(1), "ib0", "eth1", false), only(0) | only(1));
  EXPECT_EQ(here(only(5), "ib0", "eth1", false), 0);
  EXPECT_EQ(here(0, "ib0", "eth1", false), 0);
}

TEST_F(WantedRails, OfTheSameNodeAreThoseOfTheSameNames) {
  EXPECT_EQ(here(only(0), "eth1", "eth0", true), only(1));
  EXPECT_EQ(here(only(1), "eth1", "eth0", true), only(0)) << "whatever lanes there are between the two";
  EXPECT_EQ(here(only(0), "ib0", "eth0", true), 0);
}

TEST_F(WantedRails, OfRank0AreItsOwn) {
  add_peer(2);
  EXPECT_EQ(core.rails_here(*core.create_team("team", 0, {nullptr, latest}), only(1)), only(1));
}

class WithinANode : public OneOfAJob {
 protected:
  WithinANode() : OneOfAJob(0, some_loopback(7)) {}
};

TEST_F(WithinANode, ThePairHasItsLoopbackAndTheRailsAreSpare) {
  add_peer(some_rails(2), true, some_loopback(7));
  ASSERT_EQ(latest->wires.size(), 3u);
  EXPECT_EQ(latest->wires[0].rails, (RailPair{kLoopbackRail, kLoopbackRail}));
  EXPECT_EQ(latest->wires[0].label, "tcp/lo - tcp/lo");
  EXPECT_FALSE(latest->wires[0].spare);
  EXPECT_TRUE(latest->wires[1].spare && latest->wires[2].spare);
  EXPECT_TRUE(latest->same_node);
  EXPECT_TRUE(core.expects({latest->address.id, kLoopbackRail, kLoopbackRail, true}));
  EXPECT_EQ(core.lanes_to_come(*core.plan_team("both", 0, {nullptr, latest})), 1u);
  EXPECT_EQ(core.rails(), 2u) << "it is none of the user's";
}

TEST_F(WithinANode, WhoLivesInAnotherNetworkNamespaceIsAsOnAnotherNode) {
  add_peer(some_rails(2), true, some_loopback(8));
  EXPECT_EQ(latest->wires.size(), 2u);
  EXPECT_FALSE(latest->wires[0].spare || latest->wires[1].spare);
  EXPECT_FALSE(latest->same_node);
  EXPECT_FALSE(core.expects({latest->address.id, kLoopbackRail, kLoopbackRail, true}));
}

TEST_F(WithinANode, WhoHasNoLoopbackUsesAllRails) {
  add_peer(some_rails(2), true);
  EXPECT_EQ(latest->wires.size(), 2u);
  EXPECT_FALSE(latest->wires[0].spare || latest->wires[1].spare);
  EXPECT_TRUE(latest->same_node);
}

TEST_F(WithinANode, TheLoopbackOfAnotherNodeIsNotTheOwn) {
  add_peer(some_rails(2), false, some_loopback(7));
  EXPECT_EQ(latest->wires.size(), 2u);
  EXPECT_FALSE(latest->wires[0].spare || latest->wires[1].spare);
}

class Memory : public OneOfAJob {};

TEST_F(Memory, LanesGetLessAsPeersCome) {
  add_peer(2);
  EXPECT_EQ(words.bound, 512 * KiB);
  while (peers < 16) add_peer(2);
  EXPECT_EQ(words.bound, 512 * KiB);
  while (peers < 64) add_peer(2);
  EXPECT_EQ(words.bound, 128 * KiB);
  EXPECT_EQ(core.trunk_options(0).retransmit_memory, retransmit_memory(65));
}

TEST_F(Memory, APeerWithOneLaneAllowsItMore) {
  while (peers < 64) add_peer(1);
  EXPECT_EQ(words.bound, 256 * KiB);
  add_peer(2);  // one with more counts for all
  EXPECT_EQ(words.bound, lane_memory(65, 2));
}

TEST(PeerMemory, IsWhatWasPromised) {
  for (std::size_t peers = 1; peers <= 110; ++peers)
    for (std::size_t lanes = 1; lanes <= kMaxRails && peers * lanes <= 256; ++lanes)
      EXPECT_LE(retransmit_memory(peers) + early_window(peers) / 4 * 5 + lanes * lane_memory(peers, lanes), std::min(2 * MiB, 32 * MiB / peers));
  for (std::size_t peers : {1000, 100000}) {
    EXPECT_EQ(early_window(peers), 16 * KiB);
    EXPECT_GE(retransmit_memory(peers), 2 * kMostCopied) << "a small operation must always fit";
    EXPECT_EQ(lane_memory(peers, 16), 64 * KiB) << "a connection must always work";
  }
}

}  // namespace
}  // namespace nezha
