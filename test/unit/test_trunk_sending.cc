// SPDX-License-Identifier: BSD-3-Clause
/// Which lanes carry what a trunk is given, and what shares a frame.
#include "trunk_pair.h"

namespace nezha::test {
namespace {

class TrunkSending : public TrunkPair {
 protected:
  /// One lane, and what is small is held back while `cork` is on.
  void open_holding() {
    TrunkOptions options;
    options.cork = &cork;
    open(1, options);
  }

  Cork cork;
};

TEST_F(TrunkSending, AFlowOfOneRailKeepsToIt) {
  open();
  const Bytes source = pattern(300000);
  flow.open(1, 1, 4, true);
  flow.begun = true;
  send(source);
  EXPECT_FALSE(a->lanes[0]->frames.empty());
  EXPECT_TRUE(a->lanes[1]->frames.empty());
  carry_all();
  EXPECT_TRUE(delivered(source));
  a->lose(0);
  send(source);
  carry_all();
  EXPECT_TRUE(delivered(source));
}

TEST_F(TrunkSending, AFlowOfCertainRailsKeepsToThemAsLongAsOneIsUp) {
  open();
  const Bytes source = pattern(300000);
  const auto send_on_second = [&](OpNumber op) {
    for (HandLane* lane : a->lanes) lane->frames.clear();
    flow.open(1, op, 4, false, only(1));
    flow.begun = true;
    send(source);
  };
  send_on_second(1);
  EXPECT_TRUE(a->lanes[0]->frames.empty());
  EXPECT_FALSE(a->lanes[1]->frames.empty());
  a->lanes[1]->frames.clear();  // they were on their way
  a->lose(1), b->lose(1);
  a->trunk.pump();
  carry_all();
  EXPECT_TRUE(delivered(source)) << "what was lost goes by the other";
}

TEST_F(TrunkSending, FlowsThatWantDifferentRailsHaveAll) {
  open();
  const Bytes source = pattern(1 << 20);
  Flow other;
  flow.open(1, 1, 4, false, only(1));
  other.open(2, 1, 4);
  flow.begun = other.begun = true;
  a->trunk.send(flow, {.data = source.data(), .size = 1 << 20});
  EXPECT_TRUE(a->lanes[0]->frames.empty());
  a->trunk.send(other, {.data = source.data(), .size = 1 << 20});
  EXPECT_FALSE(a->lanes[0]->frames.empty());
}

TEST_F(TrunkSending, ALaneThatIsBackHasToEarnItsShare) {
  open();
  const Bytes source = pattern(1 << 19);
  const auto carried = [&](std::size_t lane) {
    std::size_t bytes = 0;
    for (const SentFrame& frame : a->lanes[lane]->frames) bytes += frame.payload.size();
    return bytes;
  };
  measure(0.1);
  send(source);
  EXPECT_GT(3 * carried(1), carried(0)) << "both are as fast";
  carry_all();
  settle();
  a->lose(1), b->lose(1);
  a->raise(1), b->raise(1);
  send(source);
  EXPECT_LT(3 * carried(1), carried(0));
  EXPECT_GT(carried(1), 0u) << "else it could never";
}

/// Messages that one lane could carry in less time than the other is thought to need for a piece.
TEST_F(TrunkSending, ALaneThatIsBackEarnsWithSmallMessagesToo) {
  open();
  const Bytes source = pattern(32 * 1024);
  measure(0.125);
  a->lose(1), b->lose(1);
  a->raise(1), b->raise(1);
  send(source);
  EXPECT_FALSE(a->lanes[1]->frames.empty());
  EXPECT_FALSE(a->lanes[0]->frames.empty());
}

/// Pieces of a fast lane that is lost: there is another, and a slow one, to which 100 KiB are much.
TEST_F(TrunkSending, ReplaysDoNotGoWhereOneOfThemTakesLong) {
  open(3);
  const double rates[] = {0.125, 0.125, 0.00125};
  for (std::size_t lane = 0; lane < 3; ++lane) a->loads[lane].nominal = rates[lane];
  const Bytes source = pattern(1 << 19);
  send(source);
  for (HandLane* lane : a->lanes) lane->beat.in_flight = lane->given();
  const std::size_t slow = a->lanes[2]->given();
  a->lose(0);
  a->trunk.pump();
  EXPECT_LT(a->lanes[2]->given() - slow, 40000U);
}

TEST_F(TrunkSending, WhereSharesAreFixedTheyCountForAFlowOfOneRailToo) {
  open();
  EXPECT_FALSE(a->trunk.shares_fixed());
  for (RailLoad& rail : a->loads) rail.weight = 1;
  a->trunk.add_lane(2, 2, a->loads[2]);
  EXPECT_TRUE(a->trunk.shares_fixed());
  flow.open(1, 1, 4, true);
  flow.begun = true;
  const Bytes source = pattern(300000);
  send(source);
  EXPECT_FALSE(a->lanes[0]->frames.empty());
  EXPECT_FALSE(a->lanes[1]->frames.empty());
}

/// What goes to a peer at the same time shares a frame, whosever it is.
TEST_F(TrunkSending, SmallPiecesThatAreHeldBackShareAFrame) {
  open_holding();
  b->receiver.begun = 3;
  const Bytes source = pattern(64);
  std::array<Flow, 3> flows;
  cork.begin();
  for (OpNumber op = 1; op <= flows.size(); ++op) {
    flows[op - 1].open(1, op, 4);
    a->trunk.send(flows[op - 1], {.data = source.data(), .size = 64});
  }
  EXPECT_TRUE(a->lanes[0]->frames.empty());
  cork.end();
  EXPECT_EQ(a->lanes[0]->frames.size(), 1u);
  carry_all();
  for (OpNumber op = 1; op <= flows.size(); ++op) EXPECT_EQ((b->receiver.contents[{op, 0}]), source);
}

TEST_F(TrunkSending, WhatIsHeldBackMayWaitForMore) {
  open_holding();
  const Bytes source = pattern(64);
  cork.begin();
  send(source);
  cork.end(true);
  EXPECT_TRUE(cork.left());
  EXPECT_TRUE(a->lanes[0]->frames.empty());
  cork.begin();
  send(source, 64);
  cork.end();
  EXPECT_FALSE(cork.left());
  EXPECT_EQ(a->lanes[0]->frames.size(), 1u);
}

TEST_F(TrunkSending, MuchIsNotHeldBack) {
  open_holding();
  const Bytes source = pattern(100000);
  cork.begin();
  send(source);
  EXPECT_FALSE(a->lanes[0]->frames.empty());
  cork.end();
  carry_all();
  EXPECT_TRUE(delivered(source));
}

}  // namespace
}  // namespace nezha::test
