// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "rail/frame.h"
#include "random_bytes.h"
#include "tcp_pair.h"

namespace nezha::test {
namespace {

using Frame = FrameLog::Frame;

/// Cuts [0, size) at up to kMaxFrameSegments - 1 random places, empty parts included.
std::vector<std::size_t> random_cuts(Random& random, std::size_t size) {
  std::vector<std::size_t> cuts{0, size};
  for (std::size_t n = random() % kMaxFrameSegments; n > 0; --n) cuts.push_back(random() % (size + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

std::vector<Gather> gather(const Bytes& bytes, const std::vector<std::size_t>& cuts) {
  std::vector<Gather> parts;
  for (std::size_t i = 1; i < cuts.size(); ++i) parts.push_back({bytes.data() + cuts[i - 1], cuts[i] - cuts[i - 1]});
  return parts;
}

class TcpLaneTest : public TcpPair {
 protected:
  void SetUp() override {
    ASSERT_TRUE(join());
    from = a.lanes[0], to = b.lanes[0];
    sender = a.logs[0].get(), receiver = b.logs[0].get();
  }

  static Gather whole(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }
  Lane::Sent send(Lane& lane, const Bytes& header, const Bytes& payload) {
    const Gather part = whole(payload);
    return lane.send(header, {&part, 1});
  }
  /// Sends the same large frame until one is taken only partly; nobody reads meanwhile. Returns how many were begun.
  std::size_t fill_up(const Bytes& header, const Bytes& payload) {
    std::size_t count = 1;
    while (send(*from, header, payload) == Lane::Sent::whole) ++count;
    EXPECT_TRUE(from->busy());
    return count;
  }

  Random random{4711};
  Lane *from = nullptr, *to = nullptr;
  FrameLog *sender = nullptr, *receiver = nullptr;
};

TEST_F(TcpLaneTest, FramesOfAllSizesArriveIntactInBothDirections) {
  std::vector<std::size_t> sizes{0, 1, 2, 255, 256, 257, 4096, 16383, 16384, 16385, 65536, 131072, kMaxFramePayload};
  for (int i = 0; i < 300; ++i) sizes.push_back(random() % (i % 3 == 0 ? kMaxFramePayload : 2000));
  std::shuffle(sizes.begin(), sizes.end(), random);
  const auto lay_out = [this](ScatterList& into, Bytes& payload) {
    const auto cuts = random_cuts(random, payload.size());
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      into.segments[into.count++] = {payload.data() + cuts[i - 1], cuts[i] - cuts[i - 1]};
    }
  };
  sender->lay_out = receiver->lay_out = lay_out;
  std::vector<Frame> frames;
  for (const std::size_t size : sizes) {
    frames.push_back({random_contents(random, random() % (kMaxFrameHeader + 1)), random_contents(random, size)});
  }
  std::size_t sent[2] = {0, 0};
  Lane* lanes[2] = {from, to};
  const auto feed = [&] {
    for (int side : {0, 1}) {
      while (sent[side] < frames.size() && !lanes[side]->busy()) {
        const Frame& frame = frames[sent[side]++];
        const auto parts = gather(frame.payload, random_cuts(random, frame.payload.size()));
        ASSERT_NE(lanes[side]->send(frame.header, parts), Lane::Sent::down);
      }
    }
  };
  ASSERT_TRUE(drive(
      [&] { return feed(), sender->frames.size() == frames.size() && receiver->frames.size() == frames.size(); }, a,
      b));
  EXPECT_TRUE(sender->frames == frames);
  EXPECT_TRUE(receiver->frames == frames);
}

TEST_F(TcpLaneTest, APartlySentFrameIsFinishedAndTheLaneSaysSo) {
  const Bytes header = random_contents(random, 40), payload = random_contents(random, kMaxFramePayload);
  const std::size_t count = fill_up(header, payload);
  EXPECT_EQ(send(*from, header, payload), Lane::Sent::busy);
  EXPECT_GT(from->fill(), (count - 1) * payload.size() - 2 * 1024 * 1024);
  EXPECT_EQ(sender->freed, 0);
  ASSERT_TRUE(drive([&] { return receiver->frames.size() == count; }, a, b));
  EXPECT_EQ(sender->freed, 1);
  EXPECT_FALSE(from->busy());
  EXPECT_TRUE(drive([&] { return from->fill() == 0; }, a, b));
  for (const Frame& frame : receiver->frames) EXPECT_TRUE(frame == (Frame{header, payload}));
}

TEST_F(TcpLaneTest, AfterOwnRestTheSourceMayChange) {
  const Bytes header = random_contents(random, 40), payload = random_contents(random, kMaxFramePayload);
  for (int round = 0; round < 3; ++round) {
    receiver->frames.clear();
    Bytes source = payload;
    const std::size_t count = fill_up(header, source);
    from->own_rest();
    from->own_rest();
    std::fill(source.begin(), source.end(), std::byte{0xee});
    ASSERT_TRUE(drive([&] { return receiver->frames.size() == count; }, a, b));
    for (const Frame& frame : receiver->frames) EXPECT_TRUE(frame == (Frame{header, payload}));
    EXPECT_EQ(sender->freed, round + 1);
  }
}

TEST_F(TcpLaneTest, WhatNobodyWantsGoesToTheBin) {
  Bytes kept(1000);
  receiver->lay_out = [&](ScatterList& into, Bytes& payload) {
    into.segments[0] = {nullptr, payload.size() - 1000};
    into.segments[1] = {kept.data(), 1000};
    into.count = 2;
  };
  const Bytes payload = random_contents(random, kMaxFramePayload);
  for (const std::size_t size : {std::size_t{1000}, std::size_t{3000}, kMaxFramePayload}) {
    receiver->frames.clear();
    const Bytes part(payload.end() - static_cast<std::ptrdiff_t>(size), payload.end());
    send(*from, {}, part);
    ASSERT_TRUE(drive([&] { return receiver->frames.size() == 1; }, a, b));
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), payload.end() - 1000));
  }
}

TEST_F(TcpLaneTest, AClosedLaneIsDownOnTheOtherSideOnly) {
  from->close();
  EXPECT_EQ(send(*from, {}, {}), Lane::Sent::down);
  ASSERT_TRUE(drive([&] { return !receiver->downs.empty(); }, a, b));
  EXPECT_NE(receiver->downs[0].find("lane tcp/lo0 to 127.0.0.1:"), std::string::npos) << receiver->downs[0];
  EXPECT_NE(receiver->downs[0].find("the other side closed"), std::string::npos) << receiver->downs[0];
  settle(a, b);
  EXPECT_TRUE(sender->downs.empty());
  EXPECT_EQ(receiver->downs.size(), 1U);
  a.transport->forget(*from);
  b.transport->forget(*to);
  EXPECT_TRUE(join()) << "the pair of rails can be used again";
}

TEST_F(TcpLaneTest, FramesInFrontOfTheEndArrive) {
  for (int i = 0; i < 5; ++i) send(*from, Bytes(30), Bytes(20000));
  a.transport.reset();
  ASSERT_TRUE(drive([&] { return !receiver->downs.empty(); }, b));
  EXPECT_EQ(receiver->frames.size(), 5U);
}

/// What the service thread watches polls readable.
bool wakes(const Side& side) {
  pollfd fd{side.transport->wait_fd(Watch::rare), POLLIN, 0};
  return poll(&fd, 1, 50) == 1;
}

TEST_F(TcpLaneTest, APayloadWakeupIsEndedByPayload) {
  b.transport->arm_payload_wakeup();
  send(*from, {}, Bytes(100));
  EXPECT_TRUE(wakes(b));
  EXPECT_TRUE(b.transport->progress(Watch::rare));
  EXPECT_EQ(receiver->frames.size(), 1U);
  send(*from, {}, Bytes(100));
  EXPECT_FALSE(wakes(b));
}

/// Else each payload of a busy program that was idle once would wake its service thread.
TEST_F(TcpLaneTest, APayloadWakeupIsEndedByWhoeverLooks) {
  for (const Watch watch : {Watch::all, Watch::rare}) {
    b.transport->arm_payload_wakeup();
    b.transport->progress(watch);
    send(*from, {}, Bytes(100));
    EXPECT_FALSE(wakes(b));
    ASSERT_TRUE(drive([&] { return !receiver->frames.empty(); }, b));
    receiver->frames.clear();
  }
}

TEST_F(TcpLaneTest, TheServiceThreadsWatchSeesOnlyTheEnd) {
  send(*from, {}, Bytes(100));
  EXPECT_FALSE(wakes(b));
  EXPECT_FALSE(b.transport->progress(Watch::rare));
  from->close();
  EXPECT_TRUE(wakes(b));
  for (int i = 0; i < 10 && receiver->downs.empty(); ++i) b.transport->progress(Watch::rare);
  EXPECT_EQ(receiver->downs.size(), 1U);
  EXPECT_EQ(receiver->frames.size(), 1U) << "what had arrived before is not lost";
}

TEST_F(TcpLaneTest, CallbacksMayCloseForgetAndSend) {
  ASSERT_TRUE(join(1));
  const auto close = [](Lane& lane) { return lane.close(), Status{}; };
  for (const auto hook : {&FrameLog::on_begin, &FrameLog::on_end}) {
    ASSERT_TRUE(join());
    Lane& lane = *a.lanes.back();
    FrameLog& log = *b.logs.back();
    log.*hook = close;
    for (int i = 0; i < 3; ++i) send(lane, Bytes(10), Bytes(50));
    ASSERT_TRUE(drive([&] { return a.logs.back()->downs.size() == 1; }, a, b));
    EXPECT_LE(log.frames.size(), 1U);
    EXPECT_TRUE(log.downs.empty());
  }
  // Both lanes of a pair are forgotten in the callback of one, which also sends on it.
  receiver->on_begin = [&](Lane& lane) {
    EXPECT_NE(send(*b.lanes[1], {}, Bytes(5)), Lane::Sent::down);
    b.transport->forget(lane);
    b.transport->forget(*b.lanes[1]);
    return Status{};
  };
  send(*a.lanes[1], Bytes(10), Bytes(50));
  send(*from, Bytes(10), Bytes(50));
  ASSERT_TRUE(drive([&] { return sender->downs.size() == 1 && a.logs[1]->downs.size() == 1; }, a, b));
  EXPECT_EQ(a.logs[1]->frames.size(), 1U);
}

TEST_F(TcpLaneTest, AFailedSendIsToldOnceByProgress) {
  b.transport.reset();
  ASSERT_TRUE(drive([&] { return send(*from, {}, Bytes(1)) == Lane::Sent::down; }, a));
  settle(a);
  EXPECT_EQ(sender->downs.size(), 1U);
}

TEST_F(TcpLaneTest, AFrameBeyondTheLimitsIsRefused) {
  EXPECT_EQ(send(*from, Bytes(kMaxFrameHeader + 1), {}), Lane::Sent::down);
  ASSERT_TRUE(drive([&] { return !sender->downs.empty(); }, a));
  EXPECT_NE(sender->downs[0].find("beyond the limits"), std::string::npos);
}

TEST_F(TcpLaneTest, AStatusThatIsNotOkClosesTheLane) {
  receiver->on_end = [](Lane&) { return Status{Code::bad_wire, "no such team"}; };
  send(*from, {}, Bytes(10));
  ASSERT_TRUE(drive([&] { return !receiver->downs.empty() && !sender->downs.empty(); }, a, b));
  EXPECT_NE(receiver->downs[0].find("no such team"), std::string::npos);
}

TEST_F(TcpLaneTest, PlacesForAnotherSizeCloseTheLane) {
  receiver->lay_out = [](ScatterList& into, Bytes& payload) {
    into.segments[0] = {payload.data(), payload.size() - 1};
    into.count = 1;
  };
  send(*from, {}, Bytes(10));
  ASSERT_TRUE(drive([&] { return !receiver->downs.empty(); }, a, b));
  EXPECT_TRUE(receiver->frames.empty());
}

TEST_F(TcpLaneTest, KnowsWhetherTheFarEndsKernelAnswers) {
  const Bytes header(10), payload(kMaxFramePayload);
  fill_up(header, payload);
  const auto nothing_in_flight = [this] {
    clock.advance(10 * kMillisecond);
    return from->pulse().in_flight == 0;
  };
  EXPECT_TRUE(drive(nothing_in_flight, a)) << "a process that does not read, but its kernel has answered";
  const std::uint64_t before = from->pulse().delivered;
  EXPECT_GT(before, 0u);
  EXPECT_GT(from->fill(), 0u);
  EXPECT_TRUE(drive([this] { return from->fill() == 0; }, a, b));
  clock.advance(10 * kMillisecond);
  EXPECT_GT(from->pulse().delivered, before);
}

TEST_F(TcpLaneTest, KnowsItsRoundTrip) {
  send(*from, {}, Bytes(10));
  ASSERT_TRUE(drive([&] { return receiver->frames.size() == 1; }, a, b));
  const Nanoseconds rtt = from->min_rtt();
  EXPECT_GT(rtt, 0);
  EXPECT_LT(rtt, kSecond);
  EXPECT_EQ(from->min_rtt(), rtt);
}

}  // namespace
}  // namespace nezha::test
