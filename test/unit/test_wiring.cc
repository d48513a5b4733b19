// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wiring.h"

#include <algorithm>
#include <iterator>

#include "trunk_pair.h"

namespace nezha::test {
namespace {

/// One process's wiring to two peers over two rails each; connecting is counted, and fails unless `open`.
class WiringTest : public testing::Test {
 protected:
  WiringTest()
      : wiring_(
            5 * kSecond,
            [this](const Peer& peer, const Wire& wire, Nanoseconds) {
              tried_.push_back({&peer, wire.rails, wire.attempt});
            },
            log_, notices_) {
    for (Peer& peer : peers_) {
      peer.address.id = 100 + static_cast<ProcessId>(&peer - peers_);
      peer.connects = true;
      peer.trunk = std::make_unique<Trunk>(peer.address.id, TrunkOptions{}, TrunkOwner{receiver_, receiver_, receiver_},
                                           clock_, log_);
      for (std::uint8_t rail : {0, 1}) {
        peer.wires.emplace_back().rails = {rail, rail};
        peer.trunk->add_lane(rail, rail, loads_[rail]);
      }
      wiring_.want(peer, clock_.now());
      wiring_.wanted_by(peer, clock_.now());
    }
  }

  /// How often lanes over `rail` were tried in that time, in which none of them succeeds.
  std::size_t tries(std::uint8_t rail, Nanoseconds time) {
    std::size_t count = 0;
    for (const Nanoseconds until = clock_.now() + time; clock_.now() < until; clock_.advance(kMillisecond)) {
      wiring_.step(clock_.now());
      for (const Try& each : std::exchange(tried_, {})) {
        count += each.rails.local == rail ? 1 : 0;
        wiring_.lane_failed(const_cast<Peer&>(*each.peer), each.rails, each.attempt, {Code::io, "no"}, clock_.now());
      }
    }
    return count;
  }
  void all_up() {
    wiring_.step(clock_.now());
    for (const Try& each : std::exchange(tried_, {}))
      wiring_.lane_up(const_cast<Peer&>(*each.peer), each.rails, clock_.now());
  }
  void want_over_rail_1(Peer& aggregator) {
    aggregator.address.id = 7;
    aggregator.address.job_rank = kNoRank;
    aggregator.wires.emplace_back().rails = {1, 0};
    aggregator.trunk = std::make_unique<Trunk>(7, TrunkOptions{}, TrunkOwner{receiver_, receiver_, receiver_}, clock_, log_);
    wiring_.want(aggregator, clock_.now());
    wiring_.step(clock_.now());
  }
  void suspect(std::uint8_t rail) {
    for (Peer& peer : peers_) wiring_.lane_suspected(peer, {rail, rail}, 30 * kMillisecond, clock_.now());
  }
  void lose(std::uint8_t rail, Code why = Code::io) {
    for (Peer& peer : peers_) wiring_.lane_lost(peer, {rail, rail}, {why, "gone"}, clock_.now());
  }

  struct Try {
    const Peer* peer;
    RailPair rails;
    std::uint64_t attempt;
  };
  TestClock clock_;
  static void write_line(void* ctx, int level, const char* line) {
    static_cast<WiringTest*>(ctx)->lines_.emplace_back(std::to_string(level) + " " + line);
  }

  /// Keeps what it is told: event, peer, why.
  struct Told final : LaneWatcher {
    void lane(std::string_view event, std::string_view, std::string_view, std::string_view why) override {
      events.push_back(std::string(event) + ": " + std::string(why));
    }
    std::vector<std::string> events;
  };

  std::vector<std::string> lines_;  ///< each behind its level
  Log log_{write_line, this, 2};
  Notices notices_;
  TestReceiver receiver_;
  RailLoad loads_[2];
  Peer peers_[2];
  std::vector<Try> tried_;
  Wiring wiring_;
};

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
  wiring_.rail_back(1, false, clock_.now());
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
  wiring_.rail_back(0, false, clock_.now());
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
  wiring_.rail_back(1, true, clock_.now());
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
  wiring_.rail_back(1, false, clock_.now());
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

TEST_F(WiringTest, PatienceBeginsWhenThePeerWantsItsLanesToo) {
  Peer early;
  early.trunk = std::make_unique<Trunk>(7, TrunkOptions{}, TrunkOwner{receiver_, receiver_, receiver_}, clock_, log_);
  early.wires.emplace_back().rails = {0, 0};
  wiring_.want(early, clock_.now());
  clock_.advance(60 * kSecond);
  wiring_.step(clock_.now());
  EXPECT_FALSE(early.settled) << "it has not begun yet";
  EXPECT_TRUE(wiring_.wanted_by(early, clock_.now()));
  EXPECT_FALSE(wiring_.wanted_by(early, clock_.now() + kSecond)) << "it is known";
  clock_.advance(5 * kSecond - 1);
  wiring_.step(clock_.now());
  EXPECT_FALSE(early.settled);
  clock_.advance(1);
  wiring_.step(clock_.now());
  EXPECT_TRUE(early.settled);
}

/// Rail 1 leads to the aggregator and to no rank.
TEST_F(WiringTest, LanesOverAnAggregatorsOwnNetworkAreNotWaitedForLong) {
  Peer aggregator;
  want_over_rail_1(aggregator);
  for (Peer& peer : peers_) wiring_.lane_up(peer, {0, 0}, clock_.now());
  clock_.advance(kSecond);
  wiring_.step(clock_.now());
  EXPECT_FALSE(peers_[0].settled) << "rail 1 may be slow in coming up";
  wiring_.lane_up(aggregator, {1, 0}, clock_.now());
  wiring_.step(clock_.now());
  for (const Peer& peer : peers_) EXPECT_TRUE(peer.settled);
  EXPECT_TRUE(notices_.empty()) << "that is no fault";
  wiring_.lane_up(peers_[0], {1, 1}, clock_.now());
  EXPECT_TRUE(peers_[0].wired()) << "it leads to ranks after all";
}

TEST_F(WiringTest, LanesOverAnAggregatorsOwnNetworkAreNotWaitedForLongByWhoIsConnectedTo) {
  Peer& passive = peers_[0];
  passive.connects = false;
  passive.wiring_deadline = 0;
  Peer aggregator;
  want_over_rail_1(aggregator);
  wiring_.lane_up(passive, {0, 0}, clock_.now());
  wiring_.lane_up(aggregator, {1, 0}, clock_.now());
  wiring_.step(clock_.now());
  clock_.advance(kSecond);
  wiring_.wanted_by(passive, clock_.now());
  wiring_.step(clock_.now());
  clock_.advance(300 * kMillisecond);
  wiring_.step(clock_.now());
  EXPECT_TRUE(passive.settled);
}

TEST_F(WiringTest, AnAggregatorOnTheRanksNetworkChangesNothing) {
  Peer aggregator;
  want_over_rail_1(aggregator);
  wiring_.lane_up(aggregator, {1, 0}, clock_.now());
  for (Peer& peer : peers_) wiring_.lane_up(peer, {0, 0}, clock_.now());
  wiring_.lane_up(peers_[0], {1, 1}, clock_.now());
  clock_.advance(4 * kSecond);
  wiring_.step(clock_.now());
  EXPECT_FALSE(peers_[1].settled);
  clock_.advance(kSecond);
  wiring_.step(clock_.now());
  EXPECT_TRUE(peers_[1].settled);
  EXPECT_EQ(notices_.size(), 1u);
}

/// Nobody waits for it, and no team agrees on it.
TEST_F(WiringTest, ALaneToAnAggregatorThatNeverComesUpIsTriedAtLeisure) {
  all_up();
  Peer aggregator;
  aggregator.connects = true;
  want_over_rail_1(aggregator);
  EXPECT_GE(tries(1, kSecond), 8u);
  tries(1, 5 * kSecond);
  for (int second = 0; second < 20; ++second) {
    wiring_.used(clock_.now());
    EXPECT_LE(tries(1, kSecond), 1u) << "every 2.5 s at most";
  }
  EXPECT_TRUE(notices_.empty()) << "the log tells";
}

/// The other side's communicator has come first: it had connected before this one wanted lanes.
TEST_F(WiringTest, LanesThatCameBeforeTheyWereWantedAreNotWaitedFor) {
  Peer early;
  early.address.id = 7;
  early.trunk = std::make_unique<Trunk>(7, TrunkOptions{}, TrunkOwner{receiver_, receiver_, receiver_}, clock_, log_);
  for (std::uint8_t rail : {0, 1}) {
    early.wires.emplace_back().rails = {rail, rail};
    early.trunk->add_lane(rail, rail, loads_[rail]);
    wiring_.lane_up(early, {rail, rail}, clock_.now());
  }
  wiring_.want(early, clock_.now());
  EXPECT_TRUE(early.settled);
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

/// Both peers are on this node, whose rails are spare then.
class LoopbackTest : public WiringTest {
 protected:
  LoopbackTest() {
    for (Peer& peer : peers_) {
      for (Wire& wire : peer.wires) wire.spare = true;
      Wire loopback;
      loopback.rails = kLoopback;
      peer.wires.insert(peer.wires.begin(), loopback);
      peer.trunk->add_lane(kLoopbackRail, kLoopbackRail, loopback_load_);
    }
  }
  std::size_t there(const Peer& peer) const {
    return static_cast<std::size_t>(
        std::count_if(peer.wires.begin(), peer.wires.end(), [](const Wire& wire) { return wire.there(); }));
  }
  void fail_loopback() {
    for (Peer& peer : peers_)
      wiring_.lane_failed(peer, kLoopback, peer.wires[0].attempt, {Code::refused, "a stranger"}, clock_.now());
  }

  static constexpr RailPair kLoopback{kLoopbackRail, kLoopbackRail};
  RailLoad loopback_load_;
};

TEST_F(LoopbackTest, IsEnough) {
  all_up();
  for (const Peer& peer : peers_) {
    EXPECT_TRUE(peer.settled);
    EXPECT_EQ(there(peer), 1u);
  }
  EXPECT_EQ(tries(0, 20 * kSecond) + tries(1, 20 * kSecond), 0u);
  wiring_.rail_back(0, false, clock_.now());
  wiring_.used(clock_.now());
  EXPECT_EQ(tries(0, kSecond), 0u) << "nobody needs it";
  EXPECT_TRUE(notices_.empty());
}

TEST_F(LoopbackTest, ThatFailsHasAllRailsTried) {
  wiring_.step(clock_.now());
  ASSERT_EQ(std::exchange(tried_, {}).size(), 2u);
  fail_loopback();
  for (Peer& peer : peers_) EXPECT_FALSE(peer.settled);
  all_up();
  for (const Peer& peer : peers_) {
    EXPECT_TRUE(peer.settled) << "nobody waits for the loopback any longer";
    EXPECT_EQ(there(peer), 2u);
  }
  EXPECT_GE(tries(kLoopbackRail, 20 * kSecond), 2u) << "it may work later";
}

TEST_F(LoopbackTest, ThatIsLostIsTriedBeforeTheRails) {
  all_up();
  clock_.advance(10 * kSecond);
  wiring_.used(clock_.now());
  lose(kLoopbackRail);
  clock_.advance(15 * kMillisecond);
  all_up();
  for (const Peer& peer : peers_) EXPECT_EQ(there(peer), 1u);
  EXPECT_TRUE(peers_[0].wires[0].there());
  lose(kLoopbackRail);
  EXPECT_GE(tries(1, kSecond), 2u) << "after a try in vain";
}

TEST_F(LoopbackTest, AloneIsNamedWhereNothingComesUp) {
  for (Peer& peer : peers_) peer.connects = false;
  clock_.advance(6 * kSecond);
  wiring_.step(clock_.now());
  EXPECT_EQ(notices_.size(), 2u);
}

}  // namespace
}  // namespace nezha::test
