// SPDX-License-Identifier: BSD-3-Clause
/// Lanes over whole messages, on a network that is memory of the test.
#include "in_children.h"
#include "message_pair.h"
#include "rail/message/message.h"

namespace nezha::test {
namespace {

class MessageLanes : public MessagePair {
 protected:
  std::span<FakePair* const> pairs(std::size_t side) { return kinds[side]->pairs; }

  /// Several pieces of the payload, as a frame has them.
  Lane::Sent send(Lane& lane, const FrameLog::Frame& frame) {
    std::vector<Gather> parts;
    const std::size_t part = std::max<std::size_t>(frame.payload.size() / 5, 1);
    for (std::size_t at = 0; at < frame.payload.size(); at += part)
      parts.push_back({frame.payload.data() + at, std::min(part, frame.payload.size() - at)});
    return lane.send(frame.header, parts);
  }
  void send_all(Lane& lane, FrameLog& told, const std::vector<FrameLog::Frame>& frames) {
    for (const FrameLog::Frame& frame : frames) {
      const int freed = told.freed;
      const Lane::Sent sent = send(lane, frame);
      ASSERT_TRUE(sent == Lane::Sent::whole || sent == Lane::Sent::partly);
      ASSERT_TRUE(sent == Lane::Sent::whole || drive([&] { return told.freed > freed; }, a, b));
    }
  }
  void exchange_frames_of_any_size();
  /// How many messages side b posts in the poll in which a frame comes to it and is answered by `answer`.
  unsigned posts_of_a_poll(const std::function<void(Lane&)>& answer) {
    settle(a, b);
    at_b().on_end = [&](Lane& lane) { return answer(lane), Status{}; };
    EXPECT_EQ(send(lane_a(), random_frame(40, 8)), Lane::Sent::whole);
    const unsigned before = fabric.posts;
    b.transport->progress(Watch::all);
    at_b().on_end = nullptr;
    return fabric.posts - before;
  }
};

void MessageLanes::exchange_frames_of_any_size() {
  fabric.refuse_every = 3;
  ASSERT_TRUE(join());
  std::vector<FrameLog::Frame> there, back;
  for (const std::size_t size : {0UL, 1UL, 300UL, 32UL * 1024, 100000UL, kMaxFramePayload}) {
    there.push_back(random_frame(1 + size % kMaxFrameHeader, size));
    back.push_back(random_frame(kMaxFrameHeader, size / 2));
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    send_all(lane_a(), at_a(), {there[i]});
    send_all(lane_b(), at_b(), {back[i]});
  }
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == there.size() && at_a().frames.size() == back.size(); }, a, b));
  EXPECT_EQ(at_b().frames, there);
  EXPECT_EQ(at_a().frames, back);
  EXPECT_EQ(fabric.not_ready, 0U);
}

TEST_F(MessageLanes, CarryFramesOfAnySizeInOrderBothWays) { exchange_frames_of_any_size(); }

TEST_F(MessageLanes, ATransportMayCopySmallMessages) {
  fabric.copied = 200;
  exchange_frames_of_any_size();
}

TEST_F(MessageLanes, ATransportMayCopyAllMessages) {
  fabric.copied = options.slot;
  exchange_frames_of_any_size();
}

TEST_F(MessageLanes, LieInPagesOfTheirOwnThatNoChildOfThisProcessHas) {
  ASSERT_TRUE(join());
  const std::span<const std::byte> memory = pairs(0)[0]->slots().memory;
  EXPECT_TRUE(begins_a_page(memory));
  EXPECT_FALSE(children_have(memory));
}

TEST_F(MessageLanes, FramesThatAreSentDuringAPollShareMessages) {
  ASSERT_TRUE(join());
  const FrameLog::Frame small = random_frame(40, 1000), large = random_frame(40, options.slot * 5 / 4);
  for (const FrameLog::Frame& frame : {small, large}) {
    const std::size_t before = at_a().frames.size();
    EXPECT_EQ(posts_of_a_poll([&](Lane& lane) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(send(lane, frame), Lane::Sent::whole);
      EXPECT_GE(lane.fill(), 3 * frame.payload.size()) << "what is held counts";
    }), frame == small ? 1U : 4U);
    ASSERT_TRUE(drive([&] { return at_a().frames.size() == before + 3; }, a, b));
    for (std::size_t i = before; i < before + 3; ++i) EXPECT_EQ(at_a().frames[i], frame);
  }
}

TEST_F(MessageLanes, WhatIsHeldTakesAQuestionAlong) {
  ASSERT_TRUE(join());
  EXPECT_EQ(posts_of_a_poll([&](Lane& lane) {
    EXPECT_EQ(send(lane, random_frame(40, 1000)), Lane::Sent::whole);
    EXPECT_GT(lane.pulse().in_flight, 0U);
  }), 1U);
  EXPECT_TRUE(drive([&] { return lane_b().fill() == 0 && lane_b().pulse().rtt != options.answer_time; }, a, b)) << "it is answered";
  EXPECT_EQ(at_a().frames.size(), 1U);
}

TEST_F(MessageLanes, WhatIsHeldIsSentBeforeALaneIsClosed) {
  ASSERT_TRUE(join());
  EXPECT_EQ(posts_of_a_poll([&](Lane& lane) {
    EXPECT_EQ(send(lane, random_frame(40, 1000)), Lane::Sent::whole);
    lane.close();
  }), 1U);
}

/// Nothing else tells the lane then that there is room again.
TEST_F(MessageLanes, SlotsThatWaitedAndWereCopiedAreRoom) {
  a.transport->bound_lanes(0);
  ASSERT_TRUE(join());
  settle(a, b);
  fabric.refuse_every = 1;
  const FrameLog::Frame frame = random_frame(40, kMaxFramePayload);
  ASSERT_EQ(send(lane_a(), frame), Lane::Sent::partly);
  fabric.silent = true;
  fabric.refuse_every = 0;
  fabric.copied = options.slot;
  settle(a, b);
  EXPECT_EQ(at_a().freed, 1);
}

/// Acknowledgements are messages too: without bounds on them the receives of a sender that hears nothing else would run out.
TEST_F(MessageLanes, OneWayTrafficNeverFindsTheReceiverNotReady) {
  fabric.refuse_every = 7;
  ASSERT_TRUE(join());
  const FrameLog::Frame small = random_frame(40, 8), large = random_frame(40, 20000);
  for (int i = 0; i < 3000; ++i) send_all(lane_a(), at_a(), {i % 3 == 0 ? large : small});
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == 3000; }, a, b));
  EXPECT_EQ(fabric.not_ready, 0U);
}

TEST_F(MessageLanes, APeerThatDoesNotLookStopsTheSenderAndLosesNothing) {
  ASSERT_TRUE(join());
  const FrameLog::Frame frame = random_frame(40, kMaxFramePayload);
  int whole = 0;
  Lane::Sent sent = Lane::Sent::whole;
  for (; whole < 1000 && sent == Lane::Sent::whole; ++whole) {
    sent = send(lane_a(), frame);
    a.transport->progress(Watch::all);
  }
  ASSERT_EQ(sent, Lane::Sent::partly);
  EXPECT_EQ(send(lane_a(), frame), Lane::Sent::busy);
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == static_cast<std::size_t>(whole); }, a, b));
  EXPECT_EQ(at_b().frames.back(), frame);
  EXPECT_EQ(fabric.not_ready, 0U);
}

TEST_F(MessageLanes, TheSourceOfAPartlySentFrameMayChangeOnceItIsOwned) {
  ASSERT_TRUE(join());
  FrameLog::Frame frame = random_frame(40, kMaxFramePayload);
  const FrameLog::Frame before = frame;
  std::size_t frames = 1;
  while (send(lane_a(), frame) == Lane::Sent::whole) ++frames;
  lane_a().own_rest();
  frame.payload.assign(frame.payload.size(), std::byte{9});
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == frames; }, a, b));
  EXPECT_EQ(at_b().frames.back(), before);
  EXPECT_EQ(at_a().freed, 1);
}

TEST_F(MessageLanes, FillIsWhatTheOtherProcessHasNotAcknowledged) {
  ASSERT_TRUE(join());
  fabric.silent = true;
  const FrameLog::Frame frame = random_frame(40, 100000);
  ASSERT_EQ(send(lane_a(), frame), Lane::Sent::whole);
  settle(a, b);
  EXPECT_GE(lane_a().fill(), 100000U);
  fabric.silent = false;
  EXPECT_TRUE(drive([&] { return lane_a().fill() < options.ack_bytes; }, a, b));
}

TEST_F(MessageLanes, APulseAsksForAnswersAndSilenceShows) {
  ASSERT_TRUE(join());
  ASSERT_EQ(send(lane_a(), random_frame(40, 8)), Lane::Sent::whole);
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == 1; }, a, b));
  EXPECT_NE(lane_a().fill(), 0U);  // too little to be acknowledged by itself
  lane_a().pulse();
  lane_a().pulse();  // nothing has come since: now it asks
  ASSERT_TRUE(drive([&] { return lane_a().fill() == 0; }, a, b));
  EXPECT_EQ(lane_a().pulse().in_flight, 0U);

  fabric.silent = true;
  ASSERT_EQ(send(lane_a(), random_frame(40, 8)), Lane::Sent::whole);
  const LanePulse before = lane_a().pulse();
  settle(a, b);
  clock.advance(kSecond);
  const LanePulse after = lane_a().pulse();
  EXPECT_NE(after.in_flight, 0U);
  EXPECT_EQ(after.delivered, before.delivered);
  EXPECT_GE(after.heard, kSecond);
}

/// A lane that carries nothing could never turn out to be the quicker one.
TEST_F(MessageLanes, WhoWantsTheRoundTripHasItAskedForNowAndThen) {
  ASSERT_TRUE(join());
  settle(a, b);
  ASSERT_EQ(lane_a().min_rtt(), 0);
  settle(a, b);
  const std::uint64_t first = lane_a().pulse().delivered;
  EXPECT_GT(lane_a().min_rtt(), 0) << "it is answered";
  settle(a, b);
  EXPECT_EQ(lane_a().pulse().delivered, first) << "it was asked a moment ago";
  clock.advance(options.ask_after);
  EXPECT_GT(lane_a().min_rtt(), 0);
  settle(a, b);
  EXPECT_EQ(lane_a().pulse().delivered, first + 1);
}

TEST_F(MessageLanes, AnAnswerThatOtherMessagesHeldUpIsNoRoundTrip) {
  ASSERT_TRUE(join());
  settle(a, b);
  ASSERT_EQ(send(lane_a(), random_frame(40, 8 * 1024)), Lane::Sent::whole);
  EXPECT_GT(lane_a().pulse().in_flight, 0U);
  settle(a, b);
  EXPECT_NE(lane_a().pulse().rtt, options.answer_time) << "it has come";
  EXPECT_EQ(lane_a().min_rtt(), 0);
}

/// Nor one behind what the other side was sending: most of the wait was for that.
TEST_F(MessageLanes, AnAnswerBehindOtherMessagesIsNoRoundTrip) {
  ASSERT_TRUE(join());
  settle(a, b);
  ASSERT_EQ(send(lane_b(), random_frame(40, 8 * 1024)), Lane::Sent::whole);
  EXPECT_EQ(lane_a().min_rtt(), 0);
  ASSERT_EQ(send(lane_a(), random_frame(40, 8)), Lane::Sent::whole) << "it takes the question along";
  settle(a, b);
  EXPECT_EQ(at_a().frames.size(), 1U);
  EXPECT_EQ(lane_a().min_rtt(), 0);
  clock.advance(options.ask_after);
  lane_a().min_rtt();
  settle(a, b);
  EXPECT_GT(lane_a().min_rtt(), 0);
}

TEST_F(MessageLanes, AQuestionThatFoundNoSlotIsAskedLater) {
  for (Side* side : {&a, &b}) side->transport->bound_lanes(0);
  ASSERT_TRUE(join());
  const FrameLog::Frame frame = random_frame(40, options.ack_bytes);  // is acknowledged at once
  for (Lane* lane : {&lane_b(), &lane_a()}) {  // afterwards all that a has sent is acknowledged, by one message of b
    ASSERT_EQ(send(*lane, frame), Lane::Sent::whole);
    settle(a, b);
  }
  ASSERT_EQ(lane_a().pulse().rtt, options.answer_time) << "nothing was asked yet";
  pairs(0)[0]->refuses = true;
  const std::uint32_t half = options.least_slots / 2;  // the others are for acks, answers and questions
  for (std::uint32_t i = 0; i < half; ++i) ASSERT_EQ(send(lane_a(), random_frame(40, 8)), Lane::Sent::whole);
  for (std::uint32_t i = 1; i < half; ++i) {
    ASSERT_EQ(send(lane_b(), frame), Lane::Sent::whole);
    settle(a, b);
  }
  EXPECT_GT(lane_b().pulse().in_flight, 0U);
  settle(a, b);
  EXPECT_GT(lane_a().pulse().in_flight, 0U);
  pairs(0)[0]->refuses = false;
  settle(a, b);
  EXPECT_NE(lane_a().pulse().rtt, options.answer_time);
}

/// What silence has to exceed follows what answers have taken: processes answer, which may wait for a processor.
TEST_F(MessageLanes, AnAnswerIsExpectedWithinTheTimeOfTheLastOnes) {
  ASSERT_TRUE(join());
  const auto answered = [&] { return lane_a().pulse().in_flight == 0; };
  ASSERT_TRUE(drive(answered, a, b));  // the handshake
  const auto answered_after = [&](Nanoseconds time) {
    ASSERT_EQ(send(lane_a(), random_frame(40, 8)), Lane::Sent::whole);
    lane_a().pulse();
    lane_a().pulse();  // asks
    clock.advance(time);
    ASSERT_TRUE(drive(answered, a, b));
  };
  EXPECT_EQ(lane_a().answers(), Answers::process);
  for (int i = 0; i < 30; ++i) answered_after(kMillisecond);
  EXPECT_LE(lane_a().pulse().rtt, 2 * kMillisecond);
  for (int i = 0; i < 3; ++i) answered_after(100 * kMillisecond);
  EXPECT_GE(lane_a().pulse().rtt, 100 * kMillisecond);
}

TEST_F(MessageLanes, ALaneThatIsClosedGivesItsSourcesBackAtOnce) {
  ASSERT_TRUE(join());
  fabric.silent = true;
  std::vector<std::byte> source(kMaxFramePayload, std::byte{1});
  const std::vector<std::byte> header(40);
  while (lane_a().send(header, std::vector<Gather>{{source.data(), source.size()}}) == Lane::Sent::whole) {}
  lane_a().close();
  source = {};
  fabric.silent = false;
  EXPECT_EQ(lane_a().send(header, {}), Lane::Sent::down);
  ASSERT_TRUE(drive([&] { return at_b().downs.size() == 1; }, a, b));
  EXPECT_TRUE(at_b().frames.empty());
  EXPECT_TRUE(at_a().downs.empty());
  EXPECT_EQ(at_a().freed, 0);
}

TEST_F(MessageLanes, TheEndBetweenFramesIsToldFromTheEndInsideOne) {
  ASSERT_TRUE(join());
  lane_a().close();
  ASSERT_TRUE(drive([&] { return at_b().downs.size() == 1; }, a, b));
  EXPECT_EQ(at_b().downs[0], "the other side has closed it");
}

TEST_F(MessageLanes, ARefusedFrameClosesTheLane) {
  ASSERT_TRUE(join());
  at_b().on_end = [](Lane&) { return Status{Code::bad_wire, "not wanted"}; };
  ASSERT_EQ(send(lane_a(), random_frame(40, 8)), Lane::Sent::whole);
  ASSERT_TRUE(drive([&] { return at_a().downs.size() == 1 && at_b().downs.size() == 1; }, a, b));
  EXPECT_EQ(at_b().downs[0], "not wanted");
}

TEST_F(MessageLanes, WhatIsForgedClosesTheLane) {
  std::vector<std::byte> message(kMessageHeader);
  const std::vector<std::pair<MessageHeader, std::string>> cases = {
      {{MessageType::credit, false, 32, 1000}, "an acknowledgement of what was not sent"},
      {{MessageType::credit, false, 1, 3}, "an impossible number of receives"},
      {{MessageType::credit, false, 60000, 3}, "an impossible number of receives"},
      {{MessageType::welcome, false, 32, 3}, "a message out of turn"},
      {{static_cast<MessageType>(77), false, 32, 3}, "a message of an unknown type"},
      {{MessageType::credit, false, 32, 3, 1}, "not the message that comes next"},
      {{MessageType::credit, false, 32, 3, 3}, "not the message that comes next"}};
  for (const auto& [header, why] : cases) {
    const std::size_t lanes = b.lanes.size();
    connect();
    ASSERT_TRUE(drive([&] { return a.lanes.size() > lanes && b.lanes.size() > lanes; }, a, b));
    MessageHeader forged = header;
    if (forged.received == 3) forged.received = 2;  // the challenge and the welcome
    forged.number = header.number == 0 ? 2 : header.number;  // after the hello and the proof
    write_message_header(message.data(), forged);
    pairs(1).back()->forge(message);
    ASSERT_TRUE(drive([&] { return b.logs.back()->downs.size() == 1; }, a, b)) << why;
    EXPECT_EQ(b.logs.back()->downs[0], why);
  }
}

/// Some transports make a connection anew below, without a word of what lay in it.
TEST_F(MessageLanes, ALostMessageLeavesNoFrameOfOtherBytes) {
  ASSERT_TRUE(join());
  settle(a, b);
  fabric.lose_in = 2;  // of the three and more of a frame
  ASSERT_EQ(send(lane_a(), random_frame(40, 3 * options.slot)), Lane::Sent::whole);
  ASSERT_EQ(send(lane_a(), random_frame(40, 2 * options.slot)), Lane::Sent::whole);
  ASSERT_TRUE(drive([&] { return at_b().downs.size() == 1; }, a, b));
  EXPECT_TRUE(at_b().frames.empty());
  EXPECT_EQ(at_b().downs[0], "not the message that comes next");
}

TEST_F(MessageLanes, RedirectedBytesGoNowhere) {
  ASSERT_TRUE(join());
  std::vector<std::byte> place(kMaxFramePayload);
  at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>& payload) {
    into.segments[0] = {place.data(), payload.size()};
    into.count = 1;
  };
  at_b().on_begin = [&](Lane&) { return Status{}; };
  fabric.refuse_every = 2;  // so that the frame comes bit by bit
  const FrameLog::Frame frame = random_frame(40, kMaxFramePayload);
  ASSERT_NE(send(lane_a(), frame), Lane::Sent::down);
  ASSERT_TRUE(drive([&] { return !at_b().current.header.empty(); }, a, b));
  ASSERT_TRUE(at_b().frames.empty());
  lane_b().redirect(0);
  const std::vector<std::byte> now = place;
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == 1; }, a, b));
  EXPECT_EQ(place, now);
}

}  // namespace
}  // namespace nezha::test
