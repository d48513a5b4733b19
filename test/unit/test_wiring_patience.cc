// SPDX-License-Identifier: BSD-3-Clause
/// How long lanes are waited for.
#include "wiring_case.h"

namespace nezha::test {
namespace {

class WiringPatience : public WiringTest {};

TEST_F(WiringPatience, PatienceBeginsWhenThePeerWantsItsLanesToo) {
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
TEST_F(WiringPatience, LanesOverAnAggregatorsOwnNetworkAreNotWaitedForLong) {
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

TEST_F(WiringPatience, LanesOverAnAggregatorsOwnNetworkAreNotWaitedForLongByWhoIsConnectedTo) {
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

TEST_F(WiringPatience, AnAggregatorOnTheRanksNetworkChangesNothing) {
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
TEST_F(WiringPatience, ALaneToAnAggregatorThatNeverComesUpIsTriedAtLeisure) {
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
TEST_F(WiringPatience, LanesThatCameBeforeTheyWereWantedAreNotWaitedFor) {
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

}  // namespace
}  // namespace nezha::test
