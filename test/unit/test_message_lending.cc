// SPDX-License-Identifier: BSD-3-Clause
/// Lanes over whole messages that send long rows of a payload from where they lie, on a network that is memory of the test.
#include "message_pair.h"

namespace nezha::test {
namespace {

class LendingLanes : public MessagePair {
 protected:
  LendingLanes() : MessagePair({.lend_from = 16 * 1024}) { fabric.lends = true; }

  /// Of a payload in one row.
  Lane::Sent send_in_a_row(Lane& lane, const FrameLog::Frame& frame) {
    const Gather part{frame.payload.data(), frame.payload.size(), frame.payload.size()};
    return lane.send(frame.header, {&part, 1});
  }
};

TEST_F(LendingLanes, ReadALongRowUntilItHasGone) {
  ASSERT_TRUE(join());
  const FrameLog::Frame frame = random_frame(40, 100000), other = random_frame(40, 100000);
  ASSERT_EQ(send_in_a_row(lane_a(), frame), Lane::Sent::whole);
  EXPECT_TRUE(lane_a().reads(frame.payload));
  EXPECT_TRUE(lane_a().reads(std::span(frame.payload).subspan(90000, 1)));
  EXPECT_FALSE(lane_a().reads(other.payload));
  settle(a, b);
  EXPECT_FALSE(lane_a().reads(frame.payload));
  ASSERT_EQ(at_b().frames.size(), 1U);
  EXPECT_EQ(at_b().frames[0], frame);
}

TEST_F(LendingLanes, CopyAShortRow) {
  ASSERT_TRUE(join());
  const FrameLog::Frame frame = random_frame(40, 16 * 1024 - 1);
  ASSERT_EQ(send_in_a_row(lane_a(), frame), Lane::Sent::whole);
  EXPECT_FALSE(lane_a().reads(frame.payload));
}

TEST_F(LendingLanes, CopyTheRestOfWhatIsOwned) {
  ASSERT_TRUE(join());
  FrameLog::Frame frame = random_frame(40, kMaxFramePayload);
  const FrameLog::Frame before = frame;
  std::size_t frames = 1;
  while (send_in_a_row(lane_a(), frame) == Lane::Sent::whole) ++frames;
  lane_a().own_rest();
  EXPECT_TRUE(lane_a().reads(frame.payload)) << "what went before";
  ASSERT_TRUE(drive([&] { return !lane_a().reads(frame.payload); }, a, b));
  frame.payload.assign(frame.payload.size(), std::byte{9});
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == frames; }, a, b));
  for (const FrameLog::Frame& each : at_b().frames) EXPECT_EQ(each, before);
}

TEST_F(LendingLanes, ReadNothingOnceTheyAreClosed) {
  ASSERT_TRUE(join());
  const FrameLog::Frame frame = random_frame(40, 100000);
  ASSERT_EQ(send_in_a_row(lane_a(), frame), Lane::Sent::whole);
  lane_a().close();
  EXPECT_FALSE(lane_a().reads(frame.payload));
}

}  // namespace
}  // namespace nezha::test
