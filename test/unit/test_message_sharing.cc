// SPDX-License-Identifier: BSD-3-Clause
/// Lanes over whole messages that receive into slots which all lanes of a rail share, on a network that is memory of the test.
#include "message_pair.h"

namespace nezha::test {
namespace {

class SharingLanes : public MessagePair {
 protected:
  SharingLanes() : MessagePair({.lane_memory = 24 * 32 * 1024}) { fabric.shared = 48; }

  /// As many frames of a message each as the newest lane takes while nothing is answered.
  int most_under_way() {
    settle(a, b);
    fabric.silent = true;
    const FrameLog::Frame frame = random_frame(40, options.slot - 200);
    int sent = 0;
    while (send(lane_a(), frame) == Lane::Sent::whole) ++sent;
    fabric.silent = false;
    settle(a, b);
    return sent;
  }
  static Lane::Sent send(Lane& lane, const FrameLog::Frame& frame) {
    return lane.send(frame.header, std::vector<Gather>{{frame.payload.data(), frame.payload.size()}});
  }
  std::size_t free_slots(std::size_t side) const { return kinds[side]->posted.size(); }
};

TEST_F(SharingLanes, MayHaveTheLessUnderWayTheMoreTheyAre) {
  ASSERT_TRUE(join());
  const int alone = most_under_way();
  EXPECT_LE(alone, 24 - 4) << "no more than a lane's own memory would take, less what is kept for acknowledgements";
  EXPECT_GT(alone, 12);
  for (int lanes = 2; lanes <= 4; ++lanes) {
    connect();
    ASSERT_TRUE(drive([&] { return std::min(a.lanes.size(), b.lanes.size()) == static_cast<std::size_t>(lanes); }, a, b));
  }
  most_under_way();  // the last to be sent by what was told before the others came
  const int beside_others = most_under_way();
  EXPECT_LE(beside_others, 48 / 4 - 4);
  EXPECT_GT(beside_others, 4);
  EXPECT_EQ(free_slots(0), 48U);
  EXPECT_EQ(free_slots(1), 48U);
}

/// More than the slots of the other side, which takes nothing for a while: what finds none waits.
TEST_F(SharingLanes, LoseNothingWhenAllSendAtOnce) {
  fabric.shared = 9;
  ASSERT_TRUE(join());
  for (int more = 0; more < 2; ++more) connect();
  ASSERT_TRUE(drive([&] { return a.lanes.size() == 3 && b.lanes.size() == 3; }, a, b));
  settle(a, b);
  const FrameLog::Frame frame = random_frame(40, 4 * options.slot);
  for (Lane* lane : a.lanes) EXPECT_NE(send(*lane, frame), Lane::Sent::down);
  for (int i = 0; i < 100; ++i) a.transport->progress(Watch::all), b.transport->admit();
  for (Lane* lane : a.lanes) EXPECT_NE(send(*lane, frame), Lane::Sent::down);
  for (int i = 0; i < 100; ++i) a.transport->progress(Watch::all), b.transport->admit();
  EXPECT_GT(fabric.not_ready, 0U);
  settle(a, b);
  for (const auto& log : b.logs) {
    ASSERT_GE(log->frames.size(), 1U);
    for (const FrameLog::Frame& each : log->frames) EXPECT_EQ(each, frame);
  }
}

/// An acknowledgement could not follow otherwise: each end would wait for the other one.
TEST_F(SharingLanes, GoOnWhenTheirPartSinksBelowWhatIsUnderWay) {
  ASSERT_TRUE(join());
  settle(a, b);
  fabric.silent = true;
  const FrameLog::Frame frame = random_frame(40, options.slot - 200);
  for (Lane* lane : {&lane_a(), &lane_b()})
    while (send(*lane, frame) == Lane::Sent::whole) {}
  Lane& first = lane_a();
  fabric.shared = 8;  // as if there were many more lanes
  fabric.silent = false;
  settle(a, b);
  EXPECT_EQ(first.fill(), 0U);
  EXPECT_GE(at_b().frames.size(), 20U);
}

TEST_F(SharingLanes, GiveBackWhatCameForThemWhenTheyAreClosed) {
  ASSERT_TRUE(join());
  settle(a, b);
  at_b().on_end = [](Lane& lane) { return lane.close(), Status{}; };
  const FrameLog::Frame frame = random_frame(40, options.slot / 4);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(send(lane_a(), frame), Lane::Sent::whole);
  settle(a, b);
  EXPECT_EQ(free_slots(1), 48U);
}

TEST_F(SharingLanes, GiveBackWhatWasKeptUntilLanesAreLookedAt) {
  ASSERT_TRUE(join());
  settle(a, b);
  ASSERT_EQ(send(lane_a(), random_frame(40, 1000)), Lane::Sent::whole);
  for (int i = 0; i < 10; ++i) a.transport->progress(Watch::all), b.transport->admit();
  EXPECT_TRUE(at_b().frames.empty());
  EXPECT_LT(free_slots(1), 48U);
  lane_b().close();
  EXPECT_EQ(free_slots(1), 48U);
}

}  // namespace
}  // namespace nezha::test
