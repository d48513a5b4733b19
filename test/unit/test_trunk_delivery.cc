// SPDX-License-Identifier: BSD-3-Clause
/// Each piece is delivered exactly once, whatever happens to the lanes that carry it.
#include "trunk_pair.h"
#include "util/bytes.h"

namespace nezha::test {
namespace {

class TrunkDelivery : public TrunkPair {};

TEST_F(TrunkDelivery, PiecesArriveWhereTheyBelong) {
  open();
  const Bytes source = pattern(100000);
  send(source, 4096);
  carry_all();
  EXPECT_TRUE(delivered(source, 4096));
  EXPECT_EQ(b->receiver.total, source.size());
  settle();
  EXPECT_FALSE(a->trunk.outstanding());
  EXPECT_FALSE(b->trunk.outstanding());
  EXPECT_EQ(flow.unacked, 0u);
}

TEST_F(TrunkDelivery, ScratchIsHandedOver) {
  open();
  b->receiver.kind = PlaceKind::scratch;
  const Bytes source = pattern(5000);
  send(source);
  carry_all();
  EXPECT_EQ((b->receiver.contents[{1, 0}]), source);
}

TEST_F(TrunkDelivery, WhatADeadLaneHadGoesByAnother) {
  open();
  const Bytes source = pattern(64);
  send(source);
  const std::size_t first = a->lanes[0]->frames.empty() ? 1 : 0;
  const std::uint64_t before = a->loads[1 - first].retransmissions;
  a->lose(first);
  a->trunk.pump();
  carry_all();
  EXPECT_TRUE(delivered(source));
  EXPECT_EQ(a->loads[1 - first].retransmissions, before + 1);
}

TEST_F(TrunkDelivery, NothingIsLostAcrossATimeWithoutLanes) {
  open(1);
  const Bytes source = pattern(3000);
  send(source);
  a->lose(0);
  b->lose(0);
  a->trunk.pump();
  a->raise(0);
  b->raise(0);
  a->trunk.pump();
  carry_all();
  EXPECT_TRUE(delivered(source));
}

TEST_F(TrunkDelivery, ADuplicateIsDropped) {
  open();
  const Bytes source = pattern(64);
  send(source);
  const std::size_t first = a->lanes[0]->frames.empty() ? 1 : 0;
  const SentFrame frame = a->lanes[first]->frames.front();
  ASSERT_TRUE(carry(*a, *b, first));
  begin(*b, 1 - first, frame);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(b->lanes[1 - first]->places.segments[0].data, nullptr);
  std::memset(b->receiver.memory.data(), 0x77, 64);  // the operation has gone on
  end(*b, 1 - first);
  EXPECT_EQ(b->receiver.memory[5], std::byte{0x77});
  EXPECT_TRUE(once());
}

TEST_F(TrunkDelivery, AHalfReceivedDuplicateIsRedirectedBeforeTheOperationHears) {
  open();
  const Bytes source = pattern(64);
  send(source);
  const std::size_t first = a->lanes[0]->frames.empty() ? 1 : 0;
  const SentFrame frame = a->lanes[first]->frames.front();
  begin(*b, 0, frame);
  begin(*b, 1, frame);
  ASSERT_NE(b->lanes[0]->places.segments[0].data, nullptr);
  end(*b, 1);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(b->lanes[0]->redirected, std::vector<std::size_t>{0});
  end(*b, 0);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(delivered(source));
}

TEST_F(TrunkDelivery, ReplaysPassAFullLog) {
  open(1);
  flow.open(1, 1, 1);
  flow.begun = true;
  const Bytes source = pattern(4000);
  for (std::size_t i = 0; i < source.size(); ++i)
    a->trunk.send(flow, {.data = source.data() + i, .offset = i, .size = 1});
  EXPECT_FALSE(flow.empty());  // the log is full
  a->lose(0);
  b->lose(0);
  a->raise(0);
  b->raise(0);
  a->trunk.pump();
  carry_all();
  settle();
  EXPECT_TRUE(flow.empty());
  EXPECT_TRUE(delivered(source));
}

TEST_F(TrunkDelivery, AcksThatDiedWithTheirLaneAreOwedAgain) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  carry_all();
  ASSERT_TRUE(b->trunk.send_acks());
  b->lanes[0]->frames.clear();
  EXPECT_FALSE(b->trunk.outstanding());
  b->lose(0);
  b->raise(0);
  EXPECT_TRUE(b->trunk.outstanding());
  settle();
  EXPECT_FALSE(a->trunk.outstanding());
}

/// The peer needs them no more, or would find out that its lane is dead.
TEST_F(TrunkDelivery, AcksThatNoLaneCanTakeAreNotOutstanding) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  carry_all();
  EXPECT_TRUE(b->trunk.outstanding());
  b->lose(0);
  EXPECT_FALSE(b->trunk.outstanding());
  b->raise(0);
  EXPECT_TRUE(b->trunk.outstanding());
  settle();
  EXPECT_FALSE(b->trunk.outstanding());
  EXPECT_FALSE(a->trunk.outstanding());
}

/// The first piece of an operation is late, and one of the next operation so far ahead of it that no ack can name it.
/// When the late one has come, a piece of the answer says so of it, and of it alone.
TEST_F(TrunkDelivery, WhatAnAckCannotNameIsOwedStill) {
  open(1);
  const Bytes source = pattern(4);
  for (int i = 0; i < 200; ++i) send(source);
  Flow next, answer;
  next.open(1, 2, 4);
  answer.open(1, 2, 4);
  answer.begun = true;
  a->trunk.send(next, {.data = source.data(), .offset = 0, .size = 4});
  const SentFrame late = a->lanes[0]->frames.front();
  a->lanes[0]->frames.pop_front();
  while (carry(*a, *b, 0)) continue;
  ASSERT_TRUE(b->trunk.send_acks());
  EXPECT_FALSE(b->trunk.send_acks()) << "once is enough";
  begin(*b, 0, late);
  end(*b, 0);
  b->receiver.begun = 2;
  b->trunk.op_begun(1, 2, 1);
  b->trunk.send(answer, {.data = source.data(), .offset = 0, .size = 4});
  while (carry(*b, *a, 0)) continue;
  a->trunk.peer_ended(1, 1);
  settle();
  EXPECT_FALSE(a->trunk.outstanding());
}

/// Who begins an operation may still need what was sent for those before: what it has ended is said with each piece.
TEST_F(TrunkDelivery, PiecesSayWhichOperationsHaveEnded) {
  open(1);
  const Bytes source = pattern(4);
  OpNumber ended = 0;
  Flow third;
  third.team_ended = &ended;
  third.open(1, 3, 4);
  third.begun = true;
  b->receiver.begun = 3;
  a->trunk.send(third, {.data = source.data(), .offset = 0, .size = 4});
  carry_all();
  EXPECT_EQ(b->receiver.ended, 0u);
  ended = 2;
  a->trunk.send(third, {.data = source.data(), .offset = 4, .size = 4});
  carry_all();
  EXPECT_EQ(b->receiver.ended, 2u);
}

TEST_F(TrunkDelivery, APieceAcknowledgesOnlyWhatHasEnded) {
  open(1);
  const Bytes source = pattern(4);
  OpNumber ended = 0;
  Flow second, answer;
  second.open(1, 2, 4);
  second.begun = true;
  answer.team_ended = &ended;
  answer.open(1, 2, 4);
  answer.begun = true;
  b->receiver.begun = 2;
  send(source);
  a->trunk.send(second, {.data = source.data(), .offset = 0, .size = 4});
  carry_all();
  b->trunk.send(answer, {.data = source.data(), .offset = 0, .size = 4});
  carry_all();
  EXPECT_TRUE(b->trunk.send_acks()) << "both operations are under way";
  carry_all();
  send(source);
  a->trunk.send(second, {.data = source.data(), .offset = 4, .size = 4});
  carry_all();
  ended = 2;
  answer.open(1, 3, 4);
  b->trunk.send(answer, {.data = source.data(), .offset = 0, .size = 4});
  EXPECT_FALSE(b->trunk.send_acks());
}

TEST_F(TrunkDelivery, WhatIsGivenUpLeavesNoHoleInTheIds) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  a->lose(0);
  b->lose(0);
  a->trunk.abort_flow(flow);
  EXPECT_EQ(flow.unacked, 0u);
  a->raise(0);
  b->raise(0);
  for (OpNumber op = 2; op < 6000; ++op) {
    b->receiver.begun = op;
    flow.open(1, op, 4);
    flow.begun = true;
    send(source);
    carry_all();
    ASSERT_TRUE(status.ok()) << op << ": " << status.text();
    settle();
    ASSERT_EQ(flow.unacked, 0u) << op;
  }
  EXPECT_FALSE(a->trunk.outstanding());
}

/// The peer, which has it, sends no other acknowledgement of it.
TEST_F(TrunkDelivery, WhatIsGivenUpIsAcknowledgedByThePeersEndOfTheOperation) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  ASSERT_TRUE(carry(*a, *b, 0));
  a->trunk.abort_flow(flow);
  a->trunk.send_acks();
  EXPECT_TRUE(a->trunk.outstanding());
  a->trunk.peer_ended(1, 1);
  EXPECT_FALSE(a->trunk.outstanding());
}

/// As samples are: of no operation.
TEST_F(TrunkDelivery, NothingOfNoTeamAcknowledges) {
  open(1);
  const Bytes source = pattern(64);
  flow.open(0, 0, 4);
  flow.begun = true;
  send(source);
  ASSERT_TRUE(carry(*a, *b, 0));
  Flow own;
  own.open(0, 0, 4);
  own.begun = true;
  b->trunk.send(own, {.data = source.data(), .offset = 0, .size = 4});
  ASSERT_FALSE(b->lanes[0]->frames.empty());
  EXPECT_TRUE(b->trunk.send_acks()) << "the piece says nothing of what has come";
  carry_all();
  settle();
  own.clear();
}

TEST_F(TrunkDelivery, GivenUpInTheMiddleOfAFrameTheSourceIsFree) {
  open(1);
  a->lanes[0]->stuck = true;
  Bytes source = pattern(64);
  const Bytes then = source;
  send(source);
  ASSERT_TRUE(a->lanes[0]->busy());
  a->trunk.abort_flow(flow);
  source.assign(source.size(), std::byte{0});
  a->lanes[0]->hand_over();
  ASSERT_TRUE(carry(*a, *b, 0));
  EXPECT_TRUE(delivered(then));
}

TEST_F(TrunkDelivery, GivenUpInTheMiddleOfAFrameItsPlaceIsFree) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  begin(*b, 0, a->lanes[0]->frames.front());
  Flow own;  // what b sends in the same operation
  own.open(1, 1, 4);
  b->trunk.abort_flow(own);
  EXPECT_EQ(b->lanes[0]->redirected, std::vector<std::size_t>{0});
  end(*b, 0);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(b->receiver.arrivals.empty());
}

TEST_F(TrunkDelivery, BadFramesAreRefused) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  const SentFrame good = a->lanes[0]->frames.front();
  const auto refused = [&](SentFrame frame) {
    begin(*b, 0, std::move(frame));
    if (status.ok()) end(*b, 0);
    return status.code() == Code::bad_wire;
  };
  SentFrame frame = good;
  store_le<std::uint64_t>(frame.header.data() + 8, kIdWindow + 1);  // an id that nobody can have reached
  EXPECT_TRUE(refused(frame));
  frame = good;
  store_le<std::uint64_t>(frame.header.data() + 8, 2);
  store_le<std::uint16_t>(frame.header.data() + 2, 77);
  frame.header[0] = std::byte{4};  // an unknown control, and controls have no payload
  EXPECT_TRUE(refused(frame));
  store_le<std::uint32_t>(frame.header.data() + 4, 0);
  frame.payload.clear();
  EXPECT_TRUE(refused(frame));
  frame = {Bytes(kAckRecord), {}};
  encode_ack(frame.header.data(), {.below = 5, .bits = {}});  // acknowledges what was never sent
  EXPECT_TRUE(refused(frame));
  encode_ack(frame.header.data(), {.below = 0, .bits = {std::uint64_t{1} << 40, 0}});
  EXPECT_TRUE(refused(frame));
  b->receiver.bad = true;
  EXPECT_TRUE(refused(good));
  b->receiver.bad = false;
  EXPECT_TRUE(b->receiver.arrivals.empty());
  begin(*b, 0, good);
  end(*b, 0);
  EXPECT_TRUE(delivered(source));
}

TEST_F(TrunkDelivery, AWrongChecksumIsFound) {
  TrunkOptions options;
  options.checksum = true;
  open(1, options);
  const Bytes source = pattern(64);
  send(source);
  const SentFrame good = a->lanes[0]->frames.front();
  SentFrame frame = good;
  frame.payload[30] ^= std::byte{1};
  begin(*b, 0, frame);
  end(*b, 0);
  EXPECT_EQ(status.code(), Code::bad_wire);
  EXPECT_TRUE(b->receiver.arrivals.empty());
  begin(*b, 0, good);
  end(*b, 0);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(delivered(source));
}

}  // namespace
}  // namespace nezha::test
