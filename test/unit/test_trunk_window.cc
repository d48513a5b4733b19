// SPDX-License-Identifier: BSD-3-Clause
/// Early pieces stay within the window that the peer was promised, and leave it when nobody needs them any more.
#include <set>

#include "trunk/wire.h"
#include "trunk_pair.h"

namespace nezha::test {
namespace {

class TrunkWindow : public TrunkPair {
 protected:
  static TrunkOptions small_window(std::size_t window) {
    TrunkOptions options;
    options.early_window = options.peer_window = window;
    return options;
  }
  /// The peer has not begun the flow's operation, and keeps early pieces up to `window` bytes.
  void open_early(std::size_t lanes, std::size_t window = 4096) {
    open(lanes, small_window(window));
    b->receiver.begun = 0;
    flow.open(1, 1, 4);
  }
};

TEST_F(TrunkWindow, BeyondTheWindowTheSenderAsks) {
  open_early(1, 8192);
  const Bytes source = pattern(50000);
  bool told = false;
  a->receiver.on_begun = [&](TeamId team, OpNumber op) {
    told = team == 1 && op == 1;
    a->trunk.began(flow);
  };
  send(source);
  carry_all();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(flow.queued(), source.size() - 8192);
  EXPECT_EQ(b->receiver.total, 0u);
  EXPECT_FALSE(told);
  b->receiver.begun = 1;
  b->trunk.op_begun(1, 1, 0);
  EXPECT_EQ(b->receiver.total, 8192u);
  carry_all();
  EXPECT_TRUE(told);
  EXPECT_TRUE(flow.empty());
  EXPECT_TRUE(delivered(source));
}

TEST_F(TrunkWindow, WhoExpectsMoreThanAWindowSaysThatItHasBegunBeforeItSends) {
  open(1, small_window(8192));
  std::vector<OpNumber> told;
  a->receiver.on_begun = [&](TeamId, OpNumber op) { told.push_back(op); };
  b->trunk.tell_begun(flow, 4096);
  carry_all();
  EXPECT_TRUE(told.empty());
  Flow next;
  next.open(1, 2, 4);
  b->trunk.tell_begun(next, 4097);
  EXPECT_EQ(b->lanes[0]->frames.size(), 1u);
  carry_all();
  EXPECT_EQ(told, std::vector<OpNumber>{2});
}

TEST_F(TrunkWindow, TheWindowIsSharedByAllFlows) {
  open(1, small_window(4096));
  b->receiver.begun = 0;
  Flow other;
  other.open(1, 2, 4);
  flow.open(1, 1, 4);
  const Bytes source = pattern(4000);
  send(source);
  a->trunk.send(other, {.data = source.data(), .offset = 10000, .size = 4000});
  carry_all();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(flow.queued() + other.queued(), 4000u) << "a piece costs 512 bytes at least";
  b->receiver.begun = 2;
  b->trunk.op_begun(1, 1, 0);
  b->trunk.op_begun(1, 2, 1);
  a->receiver.on_begun = [&](TeamId, OpNumber op) { a->trunk.began(op == 1 ? flow : other); };
  carry_all();
  EXPECT_TRUE(flow.empty());
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(b->receiver.total, 8000u);
}

/// A broadcast's root, which ends long before its leaves begin.
TEST_F(TrunkWindow, WhatOperationsThatHaveEndedHereHaveSentCountsUntilThePeerHasBegunThem) {
  open_early(1, 8192);
  std::vector<Flow> flows(40);
  const Bytes source = pattern(4);
  OpNumber sent = 0;
  const auto broadcast = [&] {
    Flow& each = flows[sent];
    each.open(1, ++sent, 4);
    a->trunk.send(each, {.data = source.data(), .offset = 0, .size = 4});
    if (!each.empty()) return false;
    EXPECT_TRUE(a->trunk.close_flow(each));
    return true;
  };
  while (sent < 40 && broadcast()) carry_all();
  EXPECT_EQ(sent, 17u) << "16 pieces of 512 bytes fill the window";
  ASSERT_TRUE(status.ok()) << status.text();
  for (OpNumber op = 1; op <= 9; ++op) {
    b->receiver.begun = op;
    b->trunk.op_begun(1, op, op - 1);
    carry_all();
    EXPECT_EQ(flows[16].empty(), op == 9) << "the root asked when half of the window was used; told of " << op;
  }
  EXPECT_EQ(b->receiver.total, 9 * 4u);
  EXPECT_TRUE(a->trunk.close_flow(flows[16]));
  a->trunk.forget_team(1);  // its communicator is freed
  b->receiver.begun = 17;
  for (OpNumber op = 10; op <= 17; ++op) b->trunk.op_begun(1, op, op - 1);
  carry_all();
  Flow other;
  other.open(2, 1, 4);
  const Bytes window = pattern(8192);
  a->trunk.send(other, {.data = window.data(), .offset = 0, .size = 8192});
  carry_all();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_TRUE(other.empty()) << "all of the window is free again";
}

TEST_F(TrunkWindow, WhoAsksForATeamThatIsGoneIsTold) {
  open(1);
  b->receiver.begun = 0;
  b->trunk.forget_team(1);
  flow.open(1, 1, 4);
  const Bytes source = pattern(4000);
  send(source);
  carry_all();
  EXPECT_TRUE(a->trunk.close_flow(flow));
  OpNumber told = 0;
  a->receiver.on_begun = [&](TeamId, OpNumber op) { told = op; };
  a->trunk.forget_team(1);
  carry_all();
  EXPECT_EQ(told, 1u);
}

TEST_F(TrunkWindow, SoManyQuestionsForWindowAreRememberedUntilTheirTeamIsGone) {
  open(1);
  b->receiver.begun = 0;
  PieceHeader want;
  want.team = 1;
  want.control = true;
  want.step = static_cast<std::uint16_t>(Control::want);
  const auto ask = [&] {
    want.id += 1;
    want.op = want.id;
    SentFrame frame{Bytes(kPieceRecord), {}};
    encode_piece(frame.header.data(), want);
    begin(*b, 0, frame);
    end(*b, 0);
    return status.ok();
  };
  while (want.id < 10000 && ask()) continue;
  EXPECT_EQ(want.id, 4097u);
  EXPECT_EQ(status.code(), Code::bad_wire);
  b->trunk.forget_team(1);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(ask()) << "overtaken by the end of its team";
  want.team = 2;
  EXPECT_TRUE(ask());
}

/// What it is told is kept until it has acknowledged it.
TEST_F(TrunkWindow, APeerThatAsksOnAndAcknowledgesNothingLosesTheLane) {
  open(1);
  PieceHeader want;
  want.control = true;
  want.step = static_cast<std::uint16_t>(Control::want);
  const auto ask = [&](TeamId team) {
    want.team = team;
    want.id += 1;
    SentFrame frame{Bytes(kPieceRecord), {}};
    encode_piece(frame.header.data(), want);
    begin(*b, 0, frame);
    if (status.ok()) end(*b, 0);
    return status.ok();
  };
  b->trunk.forget_team(7);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ask(0));
  b->trunk.send_acks();
  EXPECT_FALSE(b->trunk.outstanding()) << "no team has that number";
  while (want.id < 10000 && ask(7)) continue;
  EXPECT_LT(want.id, 4096u) << "more than it could have received";
  EXPECT_EQ(status.code(), Code::bad_wire);
  EXPECT_FALSE(b->trunk.may_tell());
}

TEST_F(TrunkWindow, APeerThatExceedsItsWindowLosesTheLane) {
  open(1, small_window(4096));
  b->receiver.begun = 0;  // and flow.begun makes the sender believe otherwise
  const Bytes source = pattern(6000);
  send(source);
  EXPECT_FALSE(carry(*a, *b, 0));
  EXPECT_EQ(status.code(), Code::bad_wire);
}

TEST_F(TrunkWindow, AnEarlyPieceThatIsStillArrivingCountsNoMoreWhenItsOperationBegins) {
  open_early(2);
  const Bytes source = pattern(4000), next = pattern(4000, 9);
  send(source);
  const std::size_t slow = a->lanes[0]->frames.empty() ? 1 : 0;
  begin(*b, slow, a->lanes[slow]->frames.front());
  b->receiver.begun = 1;
  b->trunk.op_begun(1, 1, 0);
  a->trunk.began(flow);
  Flow second;
  second.open(1, 2, 4);
  a->lanes[slow]->beat = {.delivered = 1, .in_flight = 100};  // a suspect: so that it takes the other lane
  for (int look = 0; look < 20; ++look) {
    clock.advance(4 * kMillisecond);
    a->trunk.listen(clock.now());
  }
  a->trunk.send(second, {.data = next.data(), .offset = 0, .size = 4000});
  ASSERT_TRUE(carry(*a, *b, 1 - slow)) << status.text();
  end(*b, slow);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(once());
}

/// Else each would leave a hole in the memory for early pieces.
TEST_F(TrunkWindow, AnEarlyPieceWhoseLaneDiesLeavesItsPlace) {
  open_early(1);
  const Bytes source = pattern(4000);
  std::set<const std::byte*> places;
  for (OpNumber op = 1; op <= 20; ++op) {
    Flow each;
    each.open(1, op, 4);
    a->trunk.send(each, {.data = source.data(), .offset = 0, .size = 4000});
    begin(*b, 0, a->lanes[0]->frames.front());
    places.insert(b->lanes[0]->places.segments[0].data);
    for (End* end : {a.get(), b.get()}) end->lose(0), end->raise(0);
    a->trunk.pump();
    settle();
    b->receiver.begun = op;
    b->trunk.op_begun(1, op, op - 1);
    a->trunk.began(each);
    ASSERT_EQ(each.unacked, 0u);
  }
  EXPECT_EQ(b->receiver.total, 20 * source.size());
  EXPECT_EQ(places.size(), 1u);
}

/// A frame that has the same piece twice, and one that has another behind a piece that is refused.
TEST_F(TrunkWindow, EarlyPiecesOfStrangeFramesLeaveTheirPlaces) {
  open_early(1);
  std::set<const std::byte*> places;
  PieceHeader piece;
  piece.team = 1;
  piece.length = 1000;
  const auto arrive = [&](const PieceHeader& first, const PieceHeader& second) {
    SentFrame frame{Bytes(2 * kCheckedPieceRecord), pattern(2000)};
    const std::size_t size = encode_piece(frame.header.data(), first);
    frame.header.resize(size + encode_piece(frame.header.data() + size, second));
    begin(*b, 0, frame);
    for (std::size_t i = 0; i < 2; ++i) places.insert(b->lanes[0]->places.segments[i].data);
    end(*b, 0);
    b->receiver.begun = piece.op;
    b->trunk.op_begun(1, piece.op, piece.op - 1);
  };
  for (piece.op = 1; piece.op <= 20; ++piece.op) {
    piece.id += 1;
    arrive(piece, piece);
    EXPECT_TRUE(status.ok()) << status.text();
    PieceHeader spoilt = piece;
    spoilt.op = ++piece.op;
    spoilt.id += 1;
    spoilt.checked = true;
    piece.id += 2;
    arrive(spoilt, piece);
    EXPECT_EQ(status.code(), Code::bad_wire);
    piece.id -= 1;  // neither counts as received
  }
  EXPECT_EQ(b->receiver.total, 10000u) << "each once";
  EXPECT_LE(places.size(), 4u);
}

TEST_F(TrunkWindow, WhatIsKeptOfAFailedTeamCountsUntilThePeerHasHeardOfIt) {
  open_early(1);
  const Bytes source = pattern(4000);
  send(source);
  ASSERT_TRUE(carry(*a, *b, 0));
  const std::size_t charged = a->trunk.abort_flow(flow);
  Flow next;
  next.open(2, 1, 4);
  a->trunk.send(next, {.data = source.data(), .offset = 0, .size = 4000});
  carry_all();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_GE(next.queued(), 4000u - 96u);
  a->trunk.tell_failed(1, charged, {});
  settle();
  EXPECT_EQ(next.queued(), 0u);
  EXPECT_FALSE(a->trunk.outstanding());  // no frame was refused
}

TEST_F(TrunkWindow, WhatIsArrivingForAFailedTeamTakesNoWindow) {
  open_early(2);
  const Bytes source = pattern(4000);
  send(source);
  const std::size_t slow = a->lanes[0]->frames.empty() ? 1 : 0;
  begin(*b, slow, a->lanes[slow]->frames.front());
  a->lanes[slow]->frames.clear();
  b->trunk.forget_team(1);
  Flow next;
  next.open(2, 1, 4);
  next.begun = true;  // what the sender thinks does not matter here
  a->trunk.send(next, {.data = source.data(), .offset = 0, .size = 4000});
  const std::size_t used = a->lanes[0]->frames.empty() ? 1 : 0;
  begin(*b, 1 - slow, a->lanes[used]->frames.front());
  EXPECT_TRUE(status.ok()) << status.text();
}

TEST_F(TrunkWindow, WhatComesForATeamThatIsGoneTakesNoWindow) {
  open(1, small_window(4096));
  b->receiver.begun = 0;
  b->trunk.forget_team(1);
  flow.open(1, 1, 4);
  flow.begun = true;
  const Bytes source = pattern(6000);
  send(source);
  carry(*a, *b, 0);
  EXPECT_TRUE(status.ok()) << status.text();
}

TEST_F(TrunkWindow, AnEarlyPieceOnTwoLanesCountsOnce) {
  open_early(2);
  const Bytes source = pattern(4000);
  send(source);
  const std::size_t slow = a->lanes[0]->frames.empty() ? 1 : 0;
  const SentFrame frame = a->lanes[slow]->frames.front();
  begin(*b, slow, frame);
  begin(*b, 1 - slow, frame);
  ASSERT_TRUE(status.ok()) << status.text();
  b->lose(slow);
  end(*b, 1 - slow);
  b->receiver.begun = 1;
  b->trunk.op_begun(1, 1, 0);
  EXPECT_TRUE(delivered(source));
  EXPECT_EQ(b->receiver.total, source.size());
}

}  // namespace
}  // namespace nezha::test
