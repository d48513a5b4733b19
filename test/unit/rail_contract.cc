// SPDX-License-Identifier: BSD-3-Clause
#include "rail_contract.h"

#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

namespace nezha::test {
namespace {

constexpr int kIdle = 5000;  ///< rests before a test gives up

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RailContract);  // programs may have this file and no kind of rail

void RailContract::SetUp() {
  if (!world.there()) GTEST_SKIP() << "this machine does not have it";
}

bool RailContract::drive(const std::function<bool()>& done) {
  for (int idle = 0; idle < kIdle;) {
    const bool any = world.step();
    if (done()) return true;
    if (any) continue;
    if (!world.rest()) return false;
    ++idle;
  }
  return false;
}

void RailContract::settle() {
  for (int idle = 0; idle < 50;) {
    if (world.step())
      idle = 0;
    else if (!world.rest())
      return;
    else
      ++idle;
  }
}

void RailContract::connect(const RailAddress& remote) {
  world.a.transport->connect({world.b.self, 0, 0, false}, 0, remote, world.now() + kSecond);
}

bool RailContract::join() {
  const std::size_t before = world.a.lanes.size();
  connect();
  return drive([&] { return world.a.lanes.size() > before && world.b.lanes.size() > before; });
}

FrameLog::Frame RailContract::random_frame(std::size_t header, std::size_t payload) {
  return {random_contents(random, header), random_contents(random, payload)};
}

std::vector<Gather> RailContract::parts_of(const Frame& frame) {
  std::vector<std::size_t> cuts{0, frame.payload.size()};
  for (std::size_t n = random() % kMaxFrameSegments; n > 0; --n) cuts.push_back(random() % (frame.payload.size() + 1));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Gather> parts;
  for (std::size_t i = 1; i < cuts.size(); ++i)
    parts.push_back({frame.payload.data() + cuts[i - 1], cuts[i] - cuts[i - 1], cuts.back() - cuts[i - 1]});
  return parts;
}

void RailContract::send_and_spoil(Lane& lane, const FrameLog& told, Frame frame) {
  const int freed = told.freed;
  ASSERT_TRUE(drive([&] { return !lane.busy(); }));
  const Lane::Sent sent = send(lane, frame);
  ASSERT_TRUE(sent == Lane::Sent::whole || sent == Lane::Sent::partly);
  ASSERT_EQ(lane.busy(), sent == Lane::Sent::partly);
  if (sent == Lane::Sent::partly) {
    ASSERT_TRUE(drive([&] { return told.freed > freed; }));
  }
  ASSERT_TRUE(drive([&] { return !lane.reads(frame.payload); }));
  std::fill(frame.payload.begin(), frame.payload.end(), std::byte{0xee});
  std::fill(frame.header.begin(), frame.header.end(), std::byte{0xee});
}

bool RailContract::stuff(const Frame& frame) {
  for (std::size_t bytes = 0; bytes <= world.traits.most_queued + 2 * kMaxFramePayload;) {
    if (!lane_a().busy()) {
      send(lane_a(), frame);
      bytes += frame.payload.size();
    } else if (!world.step_a() && !world.rest()) {
      return true;
    } else if (++held > 200) {
      return true;
    }
  }
  return false;
}

TEST_P(RailContract, PublishesRailsThatCanBeWrittenDown) {
  Side& a = world.a;
  ASSERT_FALSE(a.transport->rails().empty());
  for (const RailAddress& rail : a.transport->rails()) {
    ByteWriter out;
    write_rail(out, rail);
    const std::vector<std::byte> bytes = out.take();
    ByteReader in(bytes);
    EXPECT_EQ(read_rail(in), rail) << "a word of it is too long";
    EXPECT_TRUE(in.good() && in.at_end());
    EXPECT_FALSE(rail.transport.empty() || rail.name.empty());
    EXPECT_FALSE(a.transport->where(rail).empty());
  }
}

TEST_P(RailContract, BothEndsHaveTheSameLane) {
  ASSERT_TRUE(join());
  const LaneSpec &here = lane_a().spec(), &there = lane_b().spec();
  EXPECT_EQ(here.peer, world.b.self);
  EXPECT_EQ(there.peer, world.a.self);
  EXPECT_EQ(here.connection, there.connection);
  EXPECT_NE(here.connection, 0u);
  ASSERT_TRUE(join()) << "another one between the same rails";
  EXPECT_NE(lane_a().spec().connection, world.a.lanes[0]->spec().connection);
  EXPECT_TRUE(world.a.failures.empty());
}

TEST_P(RailContract, CarriesFramesInOrderBothWays) {
  ASSERT_TRUE(join());
  std::vector<Frame> there, back;
  std::vector<std::size_t> sizes{0, 1, 255, 256, 257, 4096, 16383, 16384, 65536, 131072, kMaxFramePayload};
  for (int i = 0; i < 40; ++i) sizes.push_back(random() % (i % 4 == 0 ? kMaxFramePayload : 3000));
  for (const std::size_t size : sizes) {
    there.push_back(random_frame(random() % (kMaxFrameHeader + 1), size));
    back.push_back(random_frame(random() % (kMaxFrameHeader + 1), size / 2));
    send_and_spoil(lane_a(), at_a(), there.back());
    send_and_spoil(lane_b(), at_b(), back.back());
    if (HasFatalFailure()) return;
  }
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == there.size() && at_a().frames.size() == back.size(); }));
  EXPECT_TRUE(at_b().frames == there);
  EXPECT_TRUE(at_a().frames == back);
}

TEST_P(RailContract, FillsThePlacesThatItIsGivenAndNothingElse) {
  ASSERT_TRUE(join());
  for (const std::size_t size : {std::size_t{100}, std::size_t{3000}, std::size_t{40000}, kMaxFramePayload}) {
    const Frame frame = random_frame(30, size);
    Bytes memory(size + 2 * kMaxFrameSegments, std::byte{0x55}), expected = memory;
    const std::size_t part = size / (kMaxFrameSegments - 1);
    at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
      into.count = kMaxFrameSegments;
      for (std::size_t i = 0; i < into.count; ++i) {
        const std::size_t at = i * part, bytes = i + 1 == into.count ? size - at : part;
        const bool bin = i % 5 == 2;
        into.segments[i] = {bin ? nullptr : memory.data() + at + 2 * i, bytes};  // a gap between each and the next
        if (!bin) std::copy_n(frame.payload.begin() + static_cast<std::ptrdiff_t>(at), bytes, expected.begin() + static_cast<std::ptrdiff_t>(at + 2 * i));
      }
    };
    const std::size_t before = at_b().frames.size();
    send_and_spoil(lane_a(), at_a(), frame);
    ASSERT_TRUE(drive([&] { return at_b().frames.size() > before; }));
    EXPECT_TRUE(memory == expected) << size;
  }
}

TEST_P(RailContract, ABusyLaneTakesNothingAndGivesTheSourceBackWhenAsked) {
  ASSERT_TRUE(join());
  Frame frame = random_frame(40, kMaxFramePayload);
  const Frame original = frame, other = random_frame(10, 10);
  std::size_t frames = 0;
  while (!lane_a().busy() && frames < 1000) {
    ASSERT_NE(send(lane_a(), frame), Lane::Sent::down);
    ++frames;
  }
  if (!lane_a().busy()) GTEST_SKIP() << "it never takes a part of a frame";
  EXPECT_EQ(send(lane_a(), other), Lane::Sent::busy);
  lane_a().own_rest();
  EXPECT_TRUE(lane_a().busy());
  lane_a().own_rest();  // once more changes nothing
  const int freed = at_a().freed;
  ASSERT_TRUE(drive([&] { return !lane_a().reads(frame.payload); }));
  std::fill(frame.payload.begin(), frame.payload.end(), std::byte{0xee});
  EXPECT_EQ(freed, 0);
  ASSERT_TRUE(drive([&] { return !lane_a().busy(); }));
  EXPECT_EQ(at_a().freed, 1);
  ASSERT_NE(send(lane_a(), other), Lane::Sent::busy);
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == frames + 1; }));
  for (std::size_t i = 0; i < frames; ++i) EXPECT_TRUE(at_b().frames[i] == original) << i;
  EXPECT_TRUE(at_b().frames.back() == other);
}

/// Where a frame is received in one go there is nothing to redirect.
TEST_P(RailContract, WhatIsRedirectedLeavesItsPlaceAlone) {
  ASSERT_TRUE(join());
  const Frame frame = random_frame(40, kMaxFramePayload);
  Bytes place(kMaxFramePayload);
  std::size_t begun = 0, sent = 0;
  bool redirected = false;
  at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
    into.segments[0] = {place.data(), 1000};
    into.segments[1] = {place.data() + 1000, place.size() - 1000};
    into.count = 2;
    if (redirected) into.segments[0].data = into.segments[1].data = nullptr;  // of the next
    ++begun;
  };
  for (; !lane_a().busy() && sent < 100; ++sent) ASSERT_NE(send(lane_a(), frame), Lane::Sent::down);
  const auto inside = [&] { return begun > at_b().frames.size(); };
  ASSERT_TRUE(drive([&] { return inside() || at_b().frames.size() == sent; }));
  if (!inside()) GTEST_SKIP() << "each frame came in one go";
  const std::size_t before = at_b().frames.size();
  lane_b().redirect(1);
  std::fill(place.begin() + 1000, place.end(), std::byte{0x77});
  redirected = true;
  ASSERT_TRUE(drive([&] { return at_b().frames.size() > before; }));
  EXPECT_TRUE(std::all_of(place.begin() + 1000, place.end(), [](std::byte byte) { return byte == std::byte{0x77}; }));
  EXPECT_TRUE(std::equal(place.begin(), place.begin() + 1000, frame.payload.begin())) << "the other segment still comes";
}

TEST_P(RailContract, AClosedLaneTouchesNoMemoryAndSaysNothing) {
  ASSERT_TRUE(join());
  Bytes place(kMaxFramePayload);
  at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
    into.segments[0] = {place.data(), place.size()};
    into.count = 1;
  };
  auto source = std::make_unique<Frame>(random_frame(40, kMaxFramePayload));
  bool partly = false;
  for (int i = 0; i < 3 && !partly; ++i) partly = send(lane_a(), *source) == Lane::Sent::partly;
  for (int i = 0; i < 5; ++i) world.step();
  const std::size_t before = at_b().frames.size();
  lane_b().close();
  std::fill(place.begin(), place.end(), std::byte{0x77});
  lane_a().close();
  source.reset();  // whoever reads it now is found by the sanitizer
  settle();
  EXPECT_TRUE(std::all_of(place.begin(), place.end(), [](std::byte byte) { return byte == std::byte{0x77}; }));
  EXPECT_EQ(at_b().frames.size(), before);
  EXPECT_TRUE(at_a().downs.empty());
  EXPECT_TRUE(at_b().downs.empty());
  EXPECT_EQ(lane_a().send({}, {}), Lane::Sent::down);
  world.a.transport->forget(lane_a());
  world.b.transport->forget(lane_b());
  settle();
}

TEST_P(RailContract, AFrameThatItsReceiverRefusesEndsTheLane) {
  ASSERT_TRUE(join());
  at_b().on_begin = [](Lane&) { return Status{Code::bad_wire, "that cannot be"}; };
  ASSERT_EQ(send(lane_a(), random_frame(8, 100)), Lane::Sent::whole);
  ASSERT_TRUE(drive([&] { return !at_a().downs.empty() && !at_b().downs.empty(); }));
  EXPECT_NE(at_b().downs[0].find("that cannot be"), std::string::npos) << at_b().downs[0];
  EXPECT_TRUE(at_b().frames.empty());
  EXPECT_EQ(at_a().downs.size(), 1u);
  EXPECT_EQ(lane_a().send({}, {}), Lane::Sent::down);
}

TEST_P(RailContract, HearsThatThePeerIsGone) {
  ASSERT_TRUE(join());
  world.b.transport.reset();
  ASSERT_TRUE(drive([&] { return !at_a().downs.empty(); }));
  EXPECT_FALSE(at_a().downs[0].empty());
  world.a.transport->forget(lane_a());
  settle();
}

TEST_P(RailContract, ReadsWhatCameBeforeTheEnd) {
  ASSERT_TRUE(join());
  const Frame frame = random_frame(8, 100);
  ASSERT_EQ(send(lane_a(), frame), Lane::Sent::whole);
  lane_a().close();
  ASSERT_TRUE(drive([&] { return !at_b().downs.empty(); }));
  for (const Frame& each : at_b().frames) EXPECT_TRUE(each == frame) << "whole or not at all";
}

/// A peer that does not read costs so much memory and no more.
TEST_P(RailContract, TakesNoMoreThanItsQueuesHold) {
  ASSERT_TRUE(join());
  settle();
  const Frame frame = random_frame(40, 64 * 1024);
  EXPECT_TRUE(stuff(frame));
  EXPECT_TRUE(lane_a().busy());
  EXPECT_GT(lane_a().fill(), 0u);
  ASSERT_TRUE(drive([&] { return !lane_a().busy(); }));
}

TEST_P(RailContract, WhatTheOtherSideHasAcknowledgedIsNotUnderWay) {
  ASSERT_TRUE(join());
  for (int i = 0; i < 20; ++i) {
    send_and_spoil(lane_a(), at_a(), random_frame(40, 50000));
    if (HasFatalFailure()) return;
  }
  ASSERT_TRUE(drive([&] { return at_b().frames.size() == 20; }));
  ASSERT_TRUE(drive([&] { return lane_a().fill() < 50000; })) << lane_a().fill();
  const LanePulse pulse = lane_a().pulse();
  EXPECT_GE(pulse.heard, 0);
  EXPECT_GE(lane_a().min_rtt(), 0);
}

/// Whoever sleeps on the descriptor wakes up for a frame, and by the other one for payload after arm_payload_wakeup().
TEST_P(RailContract, WakesWhoSleepsOnItsDescriptor) {
  ASSERT_TRUE(join());
  settle();
  Transport& b = *world.b.transport;
  if (!world.traits.wakes) GTEST_SKIP() << "it has none";
  for (const Watch watch : {Watch::all, Watch::rare}) {
    settle();
    if (watch == Watch::rare) b.arm_payload_wakeup();
    pollfd sleeper{b.wait_fd(watch), POLLIN, 0};
    const std::size_t before = at_b().frames.size();
    ASSERT_EQ(send(lane_a(), random_frame(8, 100)), Lane::Sent::whole);
    for (int i = 0; i < 5; ++i) world.step_a();
    EXPECT_EQ(poll(&sleeper, 1, 5000), 1);
    for (int i = 0; i < 1000 && at_b().frames.size() == before; ++i) {
      b.progress(watch);
      world.step_a();
    }
    EXPECT_EQ(at_b().frames.size(), before + 1);
  }
}

TEST_P(RailContract, AFrameBeyondTheLimitsEndsTheLane) {
  const Bytes header(kMaxFrameHeader + 1), payload(kMaxFramePayload + 1);
  const Gather half{payload.data(), kMaxFramePayload / 2 + 1}, whole{payload.data(), payload.size()};
  const struct {
    std::size_t header;
    std::vector<Gather> parts;
  } beyond[] = {{kMaxFrameHeader + 1, {}},
                {8, {whole}},
                {8, {half, half}},
                {8, std::vector<Gather>(kMaxFrameSegments + 1, {payload.data(), 1})}};
  for (const auto& frame : beyond) {
    ASSERT_TRUE(join());
    EXPECT_EQ(lane_a().send(std::span(header).first(frame.header), frame.parts), Lane::Sent::down);
    ASSERT_TRUE(drive([&] { return !at_a().downs.empty() && !at_b().downs.empty(); }));
    EXPECT_TRUE(at_b().frames.empty());
  }
}

/// Too few bytes, too many, none.
TEST_P(RailContract, PlacesThatAreNotThePayloadsEndTheLane) {
  Bytes place(2000);
  const std::vector<Scatter> wrong[] = {
      {{place.data(), 999}}, {{place.data(), 1000}, {place.data() + 1000, 1}}, {{nullptr, 1001}}, {}};
  for (const std::vector<Scatter>& places : wrong) {
    ASSERT_TRUE(join());
    at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
      std::copy(places.begin(), places.end(), into.segments.begin());
      into.count = places.size();
    };
    ASSERT_EQ(send(lane_a(), random_frame(8, 1000)), Lane::Sent::whole);
    ASSERT_TRUE(drive([&] { return !at_b().downs.empty(); }));
    EXPECT_TRUE(at_b().frames.empty());
    EXPECT_TRUE(std::all_of(place.begin() + 1000, place.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

/// And what came by lanes, in front of an end too, comes with the next progress().
TEST_P(RailContract, ConnectsWithoutReadingLanes) {
  ASSERT_TRUE(join());
  settle();
  const Frame frame = random_frame(30, 3000);
  const auto admit = [&] {
    const bool any = world.b.transport->admit();
    return world.step_a() || any;
  };
  FrameLog& log = at_b();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(send(lane_a(), frame), Lane::Sent::whole);
  connect();
  for (int idle = 0; idle < kIdle && (world.a.lanes.size() < 2 || world.b.lanes.size() < 2);)
    if (!admit() && world.rest()) ++idle;
  ASSERT_EQ(world.a.lanes.size(), 2u);
  ASSERT_EQ(world.b.lanes.size(), 2u);
  ASSERT_EQ(send(lane_a(), frame), Lane::Sent::whole);
  world.a.lanes.front()->close();
  for (int i = 0; i < 50; ++i)
    if (!admit()) world.rest();
  EXPECT_TRUE(log.frames.empty() && log.downs.empty() && at_b().frames.empty());
  ASSERT_TRUE(drive([&] { return !log.downs.empty() && !at_b().frames.empty(); }));
  EXPECT_EQ(log.frames, std::vector<Frame>(3, frame));
  EXPECT_EQ(at_b().frames, std::vector<Frame>(1, frame));
}

TEST_P(RailContract, AdmitsOnlyWhoKnowsTheSecret) {
  if (!world.traits.authenticates) GTEST_SKIP() << "it does not check";
  world.a.secret_bytes[31] ^= 1;
  connect();
  ASSERT_TRUE(drive([&] { return !world.a.failures.empty(); }));
  settle();
  EXPECT_TRUE(world.a.lanes.empty() && world.b.lanes.empty());
}

TEST_P(RailContract, AdmitsOnlyWhoIsKnownAndExpected) {
  world.b.known = 0;
  connect();
  ASSERT_TRUE(drive([&] { return world.a.failures.size() == 1; }));
  world.b.known = world.a.self;
  world.b.refuse = [](const LaneSpec&) { return true; };
  connect();
  ASSERT_TRUE(drive([&] { return world.a.failures.size() == 2; }));
  EXPECT_FALSE(world.a.failures[1].empty());
  EXPECT_EQ(world.a.failed[1].peer, world.b.self);
  settle();
  EXPECT_TRUE(world.a.lanes.empty() && world.b.lanes.empty());
  world.b.refuse = nullptr;
  EXPECT_TRUE(join()) << "it is as good as before";
}

TEST_P(RailContract, WhatIsNotOfUseAnyMoreTakesNoLanesPlace) {
  world.a.of_use = false;
  connect();
  ASSERT_TRUE(drive([&] { return !world.a.failures.empty(); }));
  settle();
  EXPECT_TRUE(world.a.lanes.empty() && world.b.lanes.empty());
}

/// From a peer may come anything; and connect() itself must not call back.
TEST_P(RailContract, APlaceThatCannotBeFailsWithAText) {
  RailAddress remote = world.b.transport->rails()[0];
  std::vector<std::vector<std::byte>> places{{}, std::vector<std::byte>(kMaxRailPlace, std::byte{0xff})};
  if (!remote.place.empty()) places.emplace_back(remote.place.begin(), remote.place.end() - 1);
  for (const std::vector<std::byte>& place : places) {
    remote.place = place;
    const std::size_t before = world.a.failures.size();
    world.a.transport->where(remote);
    connect(remote);
    EXPECT_EQ(world.a.failures.size(), before);
    ASSERT_TRUE(drive([&] { return world.a.failures.size() > before; })) << place.size() << " bytes";
    EXPECT_FALSE(world.a.failures.back().empty());
  }
  EXPECT_TRUE(join());
}

TEST_P(RailContract, ConnectingToNobodyFailsWithAText) {
  const RailAddress nobody = world.b.transport->rails()[0];
  world.b.transport.reset();
  connect(nobody);
  ASSERT_TRUE(drive([&] { return !world.a.failures.empty(); }));
  EXPECT_FALSE(world.a.failures[0].empty());
}

}  // namespace nezha::test
