// SPDX-License-Identifier: BSD-3-Clause
/// The source outlives its need, and not longer; early pieces stay within their window.
#include "trunk/wire.h"
#include "trunk_pair.h"

namespace nezha::test {
namespace {

class TrunkMemory : public TrunkPair {
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
  void carry_changed(Bytes& source, const Bytes& then) {
    source.assign(source.size(), std::byte{0});
    for (std::size_t i = 0; i < a->lanes.size(); ++i)
      if (a->lanes[i]->busy()) a->lanes[i]->hand_over();
    carry_all();
    EXPECT_TRUE(delivered(then));
  }
};

TEST_F(TrunkMemory, AClosedFlowNeedsItsSourceNoMore) {
  open(1);
  Bytes source = pattern(5000);
  const Bytes then = source;
  send(source);
  ASSERT_TRUE(a->trunk.close_flow(flow));
  EXPECT_EQ(flow.unacked, 0u);
  a->lose(0);
  a->raise(0);
  source.assign(source.size(), std::byte{0});
  a->trunk.pump();
  carry_all();
  EXPECT_TRUE(delivered(then));
}

TEST_F(TrunkMemory, ALaneInTheMiddleOfAClosedFlowReadsACopy) {
  open(1);
  a->lanes[0]->stuck = true;
  Bytes source = pattern(5000);
  const Bytes then = source;
  send(source);
  ASSERT_TRUE(a->lanes[0]->busy());
  ASSERT_TRUE(a->trunk.close_flow(flow));
  EXPECT_EQ(a->lanes[0]->owned, 1);
  carry_changed(source, then);
}

TEST_F(TrunkMemory, ALaneInTheMiddleOfASupersededPieceReadsACopy) {
  open(1);
  a->lanes[0]->stuck = true;
  Bytes source = pattern(5000);
  const Bytes then = source;
  send(source);
  a->trunk.superseded(flow, 100, 8);
  EXPECT_EQ(a->lanes[0]->owned, 1);
  EXPECT_EQ(flow.unacked, 0u);
  carry_changed(source, then);
}

TEST_F(TrunkMemory, ALaneInTheMiddleOfAnAcknowledgedPieceReadsACopy) {
  open(2);
  a->lanes[0]->stuck = a->lanes[1]->stuck = true;
  Bytes source = pattern(64);
  const Bytes then = source;
  send(source);
  const std::size_t first = a->lanes[0]->busy() ? 0 : 1;
  Bytes header(kAckRecord);
  encode_ack(header.data(), {.below = 2, .bits = {}});  // as if the piece had come by another lane
  begin(*a, 1 - first, {header, {}});
  end(*a, 1 - first);
  EXPECT_EQ(flow.unacked, 0u);
  EXPECT_EQ(a->lanes[first]->owned, 1);
  carry_changed(source, then);
}

TEST_F(TrunkMemory, ALaneInTheMiddleOfALaterFrameNeedNotCopyForAnEarlierOne) {
  open(1);
  const Bytes early = pattern(64), late = pattern(64, 64);
  send(early);
  a->lanes[0]->stuck = true;
  send(late, 64);
  ASSERT_TRUE(a->lanes[0]->busy());
  a->trunk.superseded(flow, 0, 64);
  EXPECT_EQ(a->lanes[0]->owned, 0);
  a->trunk.superseded(flow, 64, 64);
  EXPECT_EQ(a->lanes[0]->owned, 1);
}

TEST_F(TrunkMemory, ASupersededPieceIsNotSentAgain) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  a->trunk.superseded(flow, 0, 4);
  a->lose(0);
  EXPECT_FALSE(a->trunk.has_queued());
}

TEST_F(TrunkMemory, WhoHasBegunALaterOperationHasAllOfTheEarlierOnes) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  send(source, 64, true);
  a->trunk.ended_before(2, 2);
  a->trunk.ended_before(1, 1);
  EXPECT_EQ(flow.unacked, 64u);
  a->trunk.ended_before(1, 2);
  EXPECT_EQ(flow.unacked, 0u);
  EXPECT_FALSE(a->trunk.outstanding());
  a->lose(0);
  EXPECT_FALSE(a->trunk.has_queued());
}

TEST_F(TrunkMemory, ALaneInTheMiddleOfAPieceOfAnEarlierOperationReadsACopy) {
  open(1);
  a->lanes[0]->stuck = true;
  Bytes source = pattern(5000);
  const Bytes then = source;
  send(source);
  ASSERT_TRUE(a->lanes[0]->busy());
  a->trunk.ended_before(1, 2);
  EXPECT_EQ(a->lanes[0]->owned, 1);
  carry_changed(source, then);
}

TEST_F(TrunkMemory, OtherBytesAreNotSuperseded) {
  open(1);
  const Bytes source = pattern(64);
  send(source, 128);
  a->trunk.superseded(flow, 0, 128);
  a->trunk.superseded(flow, 192, 1000);
  EXPECT_EQ(flow.unacked, 64u);
}

TEST_F(TrunkMemory, TooMuchToKeepWaitsForAcks) {
  TrunkOptions options;
  options.keep = 16 * 1024;
  open(1, options);
  const Bytes source = pattern(40000);
  send(source);
  EXPECT_FALSE(a->trunk.close_flow(flow));
  carry_all();  // the peer owes so much by now that it does not wait for its service
  EXPECT_TRUE(a->trunk.close_flow(flow));
}

TEST_F(TrunkMemory, ACopiedChunkNeedsItsSourceOnlyUntilItLeaves) {
  open(1);
  a->lanes[0]->stuck = true;
  Bytes source = pattern(2000);
  const Bytes then = source;
  send(source, 0, true);
  EXPECT_TRUE(flow.empty());
  EXPECT_EQ(flow.unacked, 0u);
  carry_changed(source, then);
}

TEST_F(TrunkMemory, BeyondTheWindowTheSenderAsks) {
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
  b->trunk.op_begun(1, 1);
  EXPECT_EQ(b->receiver.total, 8192u);
  carry_all();
  EXPECT_TRUE(told);
  EXPECT_TRUE(flow.empty());
  EXPECT_TRUE(delivered(source));
}

TEST_F(TrunkMemory, WhoExpectsMoreThanAWindowSaysThatItHasBegunBeforeItSends) {
  open(1, small_window(8192));
  std::vector<OpNumber> told;
  a->receiver.on_begun = [&](TeamId, OpNumber op) { told.push_back(op); };
  b->trunk.tell_begun(1, 1, 4096);
  carry_all();
  EXPECT_TRUE(told.empty());
  b->trunk.tell_begun(1, 2, 4097);
  EXPECT_EQ(b->lanes[0]->frames.size(), 1u);
  carry_all();
  EXPECT_EQ(told, std::vector<OpNumber>{2});
}

TEST_F(TrunkMemory, TheWindowIsSharedByAllFlows) {
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
  EXPECT_EQ(flow.queued() + other.queued(), 8000u - 4096u);
  b->receiver.begun = 2;
  b->trunk.op_begun(1, 1);
  b->trunk.op_begun(1, 2);
  a->receiver.on_begun = [&](TeamId, OpNumber op) { a->trunk.began(op == 1 ? flow : other); };
  carry_all();
  EXPECT_TRUE(flow.empty());
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(b->receiver.total, 8000u);
}

TEST_F(TrunkMemory, SoManyQuestionsForWindowAreRememberedUntilTheirTeamIsGone) {
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
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(ask()) << "overtaken by the end of its team";
  want.team = 2;
  EXPECT_TRUE(ask());
}

TEST_F(TrunkMemory, APeerThatExceedsItsWindowLosesTheLane) {
  open(1, small_window(4096));
  b->receiver.begun = 0;  // and flow.begun makes the sender believe otherwise
  const Bytes source = pattern(6000);
  send(source);
  EXPECT_FALSE(carry(*a, *b, 0));
  EXPECT_EQ(status.code(), Code::bad_wire);
}

TEST_F(TrunkMemory, AnEarlyPieceThatIsStillArrivingCountsNoMoreWhenItsOperationBegins) {
  open_early(2);
  const Bytes source = pattern(4000), next = pattern(4000, 9);
  send(source);
  const std::size_t slow = a->lanes[0]->frames.empty() ? 1 : 0;
  begin(*b, slow, a->lanes[slow]->frames.front());
  b->receiver.begun = 1;
  b->trunk.op_begun(1, 1);
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

TEST_F(TrunkMemory, WhatIsKeptOfAFailedTeamCountsUntilThePeerHasHeardOfIt) {
  open_early(1);
  const Bytes source = pattern(4000);
  send(source);
  ASSERT_TRUE(carry(*a, *b, 0));
  a->trunk.abort_flow(flow);
  Flow next;
  next.open(2, 1, 4);
  a->trunk.send(next, {.data = source.data(), .offset = 0, .size = 4000});
  carry_all();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_GE(next.queued(), 4000u - 96u);
  a->trunk.tell_failed(1, flow, 0);
  settle();
  EXPECT_EQ(next.queued(), 0u);
  EXPECT_FALSE(a->trunk.outstanding());  // no frame was refused
}

TEST_F(TrunkMemory, WhatIsArrivingForAFailedTeamTakesNoWindow) {
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

TEST_F(TrunkMemory, WhatComesForATeamThatIsGoneTakesNoWindow) {
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

TEST_F(TrunkMemory, AnEarlyPieceOnTwoLanesCountsOnce) {
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
  b->trunk.op_begun(1, 1);
  EXPECT_TRUE(delivered(source));
  EXPECT_EQ(b->receiver.total, source.size());
}

}  // namespace
}  // namespace nezha::test
