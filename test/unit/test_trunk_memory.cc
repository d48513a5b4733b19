// SPDX-License-Identifier: BSD-3-Clause
/// The source outlives its need, and not longer.
#include "trunk_pair.h"

namespace nezha::test {
namespace {

class TrunkMemory : public TrunkPair {
 protected:
  void carry_changed(Bytes& source, const Bytes& then) {
    source.assign(source.size(), std::byte{0});
    for (std::size_t i = 0; i < a->lanes.size(); ++i)
      if (a->lanes[i]->busy()) a->lanes[i]->hand_over();
    carry_all();
    EXPECT_TRUE(delivered(then));
  }
  void give_up_while_read_by_lane_1(Source source) {
    open(2);
    const Bytes bytes = pattern(5000);
    send(bytes);
    a->lanes[1]->lent = bytes;
    a->trunk.abort_flow(flow, source);
    EXPECT_EQ(flow.unacked, 0u);
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

TEST_F(TrunkMemory, WhoHasEndedAnOperationHasAllOfIt) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  send(source, 64, true);
  a->trunk.peer_ended(2, 1);
  a->trunk.peer_ended(1, 0);
  EXPECT_EQ(flow.unacked, 64u);
  a->trunk.peer_ended(1, 1);
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
  a->trunk.peer_ended(1, 1);
  EXPECT_EQ(a->lanes[0]->owned, 1);
  carry_changed(source, then);
}

TEST_F(TrunkMemory, AFlowIsNotClosedWhileANicReadsItsSource) {
  open(1);
  const Bytes source = pattern(5000);
  send(source);
  a->lanes[0]->lent = std::span(source).subspan(4000, 10);
  EXPECT_FALSE(a->trunk.close_flow(flow));
  EXPECT_EQ(flow.unacked, 5000u);
  a->lanes[0]->lent = {};
  EXPECT_TRUE(a->trunk.close_flow(flow));
  EXPECT_EQ(flow.unacked, 0u);
}

TEST_F(TrunkMemory, AnotherLanesNicCounts) {
  open(2);
  const Bytes source = pattern(64);
  send(source);
  for (const auto& lane : a->lanes) {
    lane->lent = source;
    EXPECT_FALSE(a->trunk.close_flow(flow));
    lane->lent = {};
  }
  EXPECT_TRUE(a->trunk.close_flow(flow));
}

TEST_F(TrunkMemory, WhatIsAcknowledgedMayChangeThoughANicReadsIt) {
  open(1);
  const Bytes source = pattern(5000);
  send(source);
  a->lanes[0]->lent = source;
  a->trunk.superseded(flow, 0, 5000);
  EXPECT_TRUE(a->trunk.close_flow(flow));
  EXPECT_FALSE(a->lanes[0]->dead);
}

TEST_F(TrunkMemory, AFlowThatIsGivenUpEndsTheLaneWhoseNicReadsIt) {
  give_up_while_read_by_lane_1(Source::goes);
  EXPECT_FALSE(a->lanes[0]->dead);
  EXPECT_TRUE(a->lanes[1]->dead);
}

TEST_F(TrunkMemory, AFlowWhoseSourceStaysEndsNoLane) {
  give_up_while_read_by_lane_1(Source::stays);
  EXPECT_FALSE(a->lanes[1]->dead);
}

TEST_F(TrunkMemory, SaysWhatIsInUseBehindAPiece) {
  open(2);
  a->loads[0].weight = a->loads[1].weight = 1;
  a->lanes[0]->stuck = a->lanes[1]->stuck = true;
  const Bytes source = pattern(100000);
  send(source);
  for (const auto& lane : a->lanes)
    for (const Gather& part : lane->rest) EXPECT_EQ(part.data + part.reach, source.data() + source.size());
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
  options.retransmit_memory = 16 * 1024;
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

}  // namespace
}  // namespace nezha::test
