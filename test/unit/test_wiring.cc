// SPDX-License-Identifier: BSD-3-Clause
/// When lanes are tried, and what is said of those that come and go.
#include <algorithm>

#include "wiring_case.h"

namespace nezha::test {
namespace {

TEST_F(WiringTest, TriesBecomeRarerButDoNotCease) {
  all_up();
  clock_.advance(10 * kSecond);
  wiring_.used(clock_.now());
  lose(1);
  EXPECT_GE(tries(1, 100 * kMillisecond), 4u) << "a short trouble is over soon";
  for (int second = 0; second < 3; ++second) {
    wiring_.used(clock_.now());
    const std::size_t count = tries(1, kSecond);
    EXPECT_LE(count, 2 * 20u) << "every 50 ms at most, by each peer";
    EXPECT_GE(count, 2 * 8u) << "every 100 ms at least, while calls want it";
  }
}

TEST_F(WiringTest, ARailThatIsBackIsTriedSoonAfterAMoment) {
  all_up();
  lose(1);
  tries(1, 20 * kSecond);
  wiring_.rail_back(1, clock_.now());
  EXPECT_EQ(tries(1, 20 * kMillisecond), 0u) << "its neighbours may not be there yet";
  EXPECT_GE(tries(1, 80 * kMillisecond), 2u);
}

/// Its teams go without it for good: a firewall refuses at once, and each rank of a node would ask it ten times a
/// second.
TEST_F(WiringTest, APairThatCannotConnectIsTriedAtLeisure) {
  EXPECT_GE(tries(0, kSecond), 2 * 8u) << "a team waits for it";
  tries(0, 5 * kSecond);
  ASSERT_TRUE(peers_[0].settled);
  for (int second = 0; second < 20; ++second) {
    wiring_.used(clock_.now());
    EXPECT_LE(tries(0, kSecond), 2u) << "every 2.5 s at most, by each peer";
  }
}

TEST_F(WiringTest, APairThatCouldNotConnectIsTriedSoonWhereARailOfItIsBack) {
  tries(0, 20 * kSecond);
  wiring_.rail_back(0, clock_.now());
  EXPECT_GE(tries(0, 200 * kMillisecond), 2 * 3u);
  tries(1, 20 * kSecond);
  wiring_.peer_rail_back(peers_[1], 1, clock_.now());
  EXPECT_GE(tries(1, 200 * kMillisecond), 3u);
}

/// Its teams may be ready, and their calls wait for it.
TEST_F(WiringTest, APairThatHasLostAllLanesIsTriedOftenAlsoWhereNoCallBegins) {
  all_up();
  clock_.advance(10 * kSecond);
  lose(0);
  lose(1);
  tries(0, 10 * kSecond);
  EXPECT_GE(tries(0, kSecond), 2 * 8u);
}

TEST_F(WiringTest, WhoDiesYoungWaitsLongerEachTime) {
  all_up();
  clock_.advance(10 * kSecond);
  for (int time = 0; time < 6; ++time) {
    lose(1);
    clock_.advance(200 * kMillisecond);
    wiring_.used(clock_.now());
    all_up();
  }
  lose(1);
  EXPECT_EQ(tries(1, 40 * kMillisecond), 0u);
  tries(1, 200 * kMillisecond);
  all_up();
  clock_.advance(2 * kSecond);
  wiring_.used(clock_.now());
  lose(1);
  EXPECT_GE(tries(1, 12 * kMillisecond), 2u) << "it had come to age";
}

TEST_F(WiringTest, OneLaneThatIsBackBringsTheOthers) {
  all_up();
  lose(1);
  tries(1, 20 * kSecond);
  wiring_.lane_up(peers_[0], {1, 1}, clock_.now());
  EXPECT_GE(tries(1, 2 * kMillisecond), 1u);
}

TEST_F(WiringTest, WhoMovedConnectsWhereNoLaneIsLeft) {
  all_up();
  for (Peer& peer : peers_) peer.connects = false;
  lose(0);
  lose(1);
  EXPECT_EQ(tries(1, 10 * kSecond), 0u) << "the other side does";
  for (Peer& peer : peers_) peer.wires[1].moved = true;
  wiring_.rail_back(1, clock_.now());
  EXPECT_GE(tries(1, kSecond), 2u) << "it cannot know where we are";
}

TEST_F(WiringTest, ALaneThatIsLostIsNewsUnlessTheJobIsAboutToEnd) {
  all_up();
  lines_.clear();
  lose(0);
  wiring_.ending();
  lose(1);
  ASSERT_EQ(lines_.size(), 4u);
  EXPECT_EQ(lines_[0][0], '1') << lines_[0];
  EXPECT_EQ(lines_[2][0], '2') << lines_[2];
}

/// Most often that side has come to its end first.
TEST_F(WiringTest, ALaneThatTheOtherSideClosesIsNoNews) {
  all_up();
  lines_.clear();
  lose(0, Code::closed);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0][0], '2') << lines_[0];
}

TEST_F(WiringTest, EachTransitionIsLoggedAndWatchedOnceWithItsCause) {
  Told told;
  wiring_.tell(&told);
  all_up();
  told.events.clear(), lines_.clear();
  const Status gone{Code::io, "eth1 is gone"};
  wiring_.lane_suspected(peers_[0], {1, 1}, 30 * kMillisecond, clock_.now());
  wiring_.lane_forgiven(peers_[0], {1, 1});
  wiring_.lane_lost(peers_[0], {1, 1}, gone, clock_.now());
  wiring_.lane_up(peers_[0], {1, 1}, clock_.now());
  const std::vector<std::string> events{"suspect: no answer for 30 ms", "answers: ", "lost: eth1 is gone", "up: "};
  EXPECT_EQ(told.events, events);
  const char* const said[] = {"is suspect: no answer for 30 ms", "answers again", "is lost: eth1 is gone", "is up"};
  ASSERT_EQ(lines_.size(), std::size(said));
  for (std::size_t i = 0; i < lines_.size(); ++i) EXPECT_NE(lines_[i].find(said[i]), std::string::npos) << lines_[i];
  wiring_.tell(nullptr);
}

/// The error of a call that gave up says it of each lane.
TEST_F(WiringTest, WhatALaneWasLostForComesBeforeWhatTriesHaveFound) {
  const Wire& wire = peers_[0].wires[1];
  all_up();
  EXPECT_EQ(wire.trouble(), "");
  lose(1);
  EXPECT_EQ(wire.trouble(), "gone");
  tries(1, kSecond);
  EXPECT_EQ(wire.trouble(), "gone, then no");
  wiring_.rail_back(1, clock_.now());
  while (tried_.empty()) clock_.advance(kMillisecond), wiring_.step(clock_.now());
  wiring_.lane_failed(peers_[0], {1, 1}, wire.attempt, {Code::no_rail, "the rail is gone again"}, clock_.now());
  EXPECT_EQ(wire.trouble(), "the rail is gone again") << "which says it all";
  wiring_.lane_up(peers_[0], {1, 1}, clock_.now());
  EXPECT_EQ(wire.trouble(), "") << "that is over";
}

/// Else all processes of a node would come at once, again and again.
TEST_F(WiringTest, TriesOfDifferentLanesAreSpread) {
  constexpr Nanoseconds kLongest = 100 * kMillisecond;
  all_up();
  clock_.advance(10 * kSecond);
  wiring_.used(clock_.now());
  lose(0);
  lose(1);
  tries(0, 500 * kMillisecond);  // from now on they wait as long as they ever do
  std::vector<Nanoseconds> waits;
  for (int round = 0; round < 4; ++round) {
    for (Peer& peer : peers_) {
      for (Wire& wire : peer.wires) {
        wire.state = Wire::State::connecting;
        wiring_.lane_failed(peer, wire.rails, wire.attempt, {Code::io, "no"}, clock_.now());
        waits.push_back(wire.next_try - clock_.now());
        EXPECT_GE(waits.back(), kLongest / 2);
        EXPECT_LE(waits.back(), kLongest);
      }
    }
  }
  std::sort(waits.begin(), waits.end());
  EXPECT_EQ(std::adjacent_find(waits.begin(), waits.end()), waits.end());
  EXPECT_GT(waits.back() - waits.front(), kLongest / 8);
}

/// Those that have lost one peer at the same moment.
TEST_F(WiringTest, TriesOfDifferentProcessesAreSpread) {
  constexpr ProcessId kProcesses = 8;
  all_up();
  std::vector<Nanoseconds> times;
  for (ProcessId self = 1; self <= kProcesses; ++self) {
    Wiring other = wiring_of(self);
    peers_[0].wires[1].tries = 4;
    other.lane_lost(peers_[0], {1, 1}, {Code::io, "gone"}, clock_.now());
    times.push_back(other.next_due());
  }
  std::sort(times.begin(), times.end());
  EXPECT_EQ(std::adjacent_find(times.begin(), times.end()), times.end());
  EXPECT_GT(times.back() - times.front(), (times.front() - clock_.now()) / 4);
}

TEST_F(WiringTest, AFailureAfterThePeerHasConnectedChangesNothing) {
  wiring_.step(clock_.now());
  tried_.clear();
  wiring_.lane_up(peers_[0], {1, 1}, clock_.now());
  wiring_.lane_failed(peers_[0], {1, 1}, peers_[0].wires[1].attempt, {Code::io, "too late"}, clock_.now());
  EXPECT_EQ(peers_[0].wires[1].state, Wire::State::up);
}

/// A process that was greeted anew meanwhile may have other rails, and lanes to it are tried again.
TEST_F(WiringTest, AFailureOfAnEarlierAttemptChangesNothing) {
  wiring_.step(clock_.now());
  Peer& peer = peers_[0];
  Wire& wire = peer.wires[1];
  const std::uint64_t before = wire.attempt;
  wire = {};
  wire.rails = {1, 1};
  wiring_.peer_rail_back(peer, 1, clock_.now());
  clock_.advance(kSecond);
  wiring_.step(clock_.now());
  ASSERT_EQ(wire.state, Wire::State::connecting);
  wiring_.lane_failed(peer, {1, 1}, before, {Code::io, "too late"}, clock_.now());
  EXPECT_EQ(wire.state, Wire::State::connecting);
  EXPECT_EQ(wire.trouble(), "");
  peer.wires.pop_back();
  wiring_.lane_failed(peer, {1, 1}, before, {Code::io, "too late"}, clock_.now());
}

TEST_F(WiringTest, BesideASuspectAnotherConnectionIsTried) {
  all_up();
  clock_.advance(10 * kSecond);
  wiring_.used(clock_.now());
  suspect(1);
  EXPECT_EQ(tries(1, 270 * kMillisecond), 0u) << "its kernel may send again first";
  EXPECT_GE(tries(1, 400 * kMillisecond), 2 * 4u);
  EXPECT_EQ(tries(0, 100 * kMillisecond), 0u);
  for (const Peer& peer : peers_) EXPECT_TRUE(peer.wires[1].there()) << "a trial closes nothing";
  lose(1);
  EXPECT_FALSE(peers_[0].wires[1].there());
}

TEST_F(WiringTest, EitherSideTriesBesideASuspect) {
  all_up();
  for (Peer& peer : peers_) peer.connects = false;
  wiring_.used(clock_.now());
  suspect(1);
  EXPECT_GE(tries(1, 400 * kMillisecond), 2 * 2u);
}

TEST_F(WiringTest, ForgivingEndsTheTrials) {
  all_up();
  suspect(1);
  EXPECT_GE(tries(1, 400 * kMillisecond), 2u);
  for (Peer& peer : peers_) wiring_.lane_forgiven(peer, {1, 1});
  EXPECT_EQ(tries(1, kSecond), 0u);
}

}  // namespace
}  // namespace nezha::test
