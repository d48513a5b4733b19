// SPDX-License-Identifier: BSD-3-Clause
/// The rail contract (rail/rail.h) as tests that every kind of rail must pass. A kind brings a world of two processes:
///
///   struct World {
///     static constexpr bool kAuthenticates;  // it checks secrets; only the simulation does not
///     static constexpr bool kWakes;          // its descriptor tells when there is something to do
///     static constexpr std::size_t kMostQueued;  // bytes that a lane takes while nobody reads, at most
///     Side a, b;                    // from tcp_pair.h; each with a transport of at least one rail, that know each other
///     Nanoseconds now() const;
///     bool step();                  // progress() of each transport that is there, and time; false: nothing has happened
///     bool step_a();                // the same without b, which is busy elsewhere
///     bool rest();                  // after such a step: waits a moment for more. False: there will be none
///     bool there;                   // optional: this machine has such rails
///   };
///
/// and says INSTANTIATE_TYPED_TEST_SUITE_P(Name, RailContract, World). What a kind does beyond the contract has tests of its own.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "random_bytes.h"
#include "tcp_pair.h"

namespace nezha::test {

template <typename World>
class RailContract : public testing::Test {
 protected:
  using Frame = FrameLog::Frame;

  static constexpr int kIdle = 5000;  ///< rests before a test gives up

  void SetUp() override {
    if constexpr (requires { world.there; })
      if (!world.there) GTEST_SKIP() << "this machine does not have it";
  }

  /// Until `done`. False: nothing happens any more, and it never came to that.
  template <typename Done>
  bool drive(const Done& done) {
    for (int idle = 0; idle < kIdle;) {
      const bool any = world.step();
      if (done()) return true;
      if (any) continue;
      if (!world.rest()) return false;
      ++idle;
    }
    return false;
  }
  /// For what must not happen.
  void settle() {
    for (int idle = 0; idle < 50;) {
      if (world.step())
        idle = 0;
      else if (!world.rest())
        return;
      else
        ++idle;
    }
  }

  void connect() { connect(world.b.transport->rails()[0]); }
  void connect(const RailAddress& remote) { world.a.transport->connect({world.b.self, 0, 0, false}, 0, remote, world.now() + kSecond); }
  [[nodiscard]] bool join() {
    const std::size_t before = world.a.lanes.size();
    connect();
    return drive([&] { return world.a.lanes.size() > before && world.b.lanes.size() > before; });
  }
  Lane& lane_a() { return *world.a.lanes.back(); }
  Lane& lane_b() { return *world.b.lanes.back(); }
  FrameLog& at_a() { return *world.a.logs.back(); }
  FrameLog& at_b() { return *world.b.logs.back(); }

  Frame random_frame(std::size_t header, std::size_t payload) {
    return {random_contents(random, header), random_contents(random, payload)};
  }
  /// The payload cut at random places.
  std::vector<Gather> parts_of(const Frame& frame) {
    std::vector<std::size_t> cuts{0, frame.payload.size()};
    for (std::size_t n = random() % kMaxFrameSegments; n > 0; --n) cuts.push_back(random() % (frame.payload.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    std::vector<Gather> parts;
    for (std::size_t i = 1; i < cuts.size(); ++i) parts.push_back({frame.payload.data() + cuts[i - 1], cuts[i] - cuts[i - 1]});
    return parts;
  }
  Lane::Sent send(Lane& lane, const Frame& frame) { return lane.send(frame.header, parts_of(frame)); }
  /// Sends it and spoils the source as soon as the contract permits.
  void send_and_spoil(Lane& lane, const FrameLog& told, Frame frame) {
    const int freed = told.freed;
    ASSERT_TRUE(drive([&] { return !lane.busy(); }));
    const Lane::Sent sent = send(lane, frame);
    ASSERT_TRUE(sent == Lane::Sent::whole || sent == Lane::Sent::partly);
    ASSERT_EQ(lane.busy(), sent == Lane::Sent::partly);
    if (sent == Lane::Sent::partly) {
      ASSERT_TRUE(drive([&] { return told.freed > freed; }));
    }
    std::fill(frame.payload.begin(), frame.payload.end(), std::byte{0xee});
    std::fill(frame.header.begin(), frame.header.end(), std::byte{0xee});
  }
  /// Large frames until the lane takes no more, while b does not look. False: it takes without end.
  bool stuff(const Frame& frame) {
    for (std::size_t bytes = 0; bytes <= World::kMostQueued + 2 * kMaxFramePayload;) {
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

  Random random{11};
  int held = 0;
  World world;
};

TYPED_TEST_SUITE_P(RailContract);

TYPED_TEST_P(RailContract, PublishesRailsThatCanBeWrittenDown) {
  Side& a = this->world.a;
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

TYPED_TEST_P(RailContract, BothEndsHaveTheSameLane) {
  ASSERT_TRUE(this->join());
  const LaneSpec &here = this->lane_a().spec(), &there = this->lane_b().spec();
  EXPECT_EQ(here.peer, this->world.b.self);
  EXPECT_EQ(there.peer, this->world.a.self);
  EXPECT_EQ(here.connection, there.connection);
  EXPECT_NE(here.connection, 0u);
  ASSERT_TRUE(this->join()) << "another one between the same rails";
  EXPECT_NE(this->lane_a().spec().connection, this->world.a.lanes[0]->spec().connection);
  EXPECT_TRUE(this->world.a.failures.empty());
}

TYPED_TEST_P(RailContract, CarriesFramesInOrderBothWays) {
  ASSERT_TRUE(this->join());
  std::vector<FrameLog::Frame> there, back;
  std::vector<std::size_t> sizes{0, 1, 255, 256, 257, 4096, 16383, 16384, 65536, 131072, kMaxFramePayload};
  for (int i = 0; i < 40; ++i) sizes.push_back(this->random() % (i % 4 == 0 ? kMaxFramePayload : 3000));
  for (const std::size_t size : sizes) {
    there.push_back(this->random_frame(this->random() % (kMaxFrameHeader + 1), size));
    back.push_back(this->random_frame(this->random() % (kMaxFrameHeader + 1), size / 2));
    this->send_and_spoil(this->lane_a(), this->at_a(), there.back());
    this->send_and_spoil(this->lane_b(), this->at_b(), back.back());
    if (this->HasFatalFailure()) return;
  }
  ASSERT_TRUE(this->drive([&] { return this->at_b().frames.size() == there.size() && this->at_a().frames.size() == back.size(); }));
  EXPECT_TRUE(this->at_b().frames == there);
  EXPECT_TRUE(this->at_a().frames == back);
}

TYPED_TEST_P(RailContract, FillsThePlacesThatItIsGivenAndNothingElse) {
  ASSERT_TRUE(this->join());
  for (const std::size_t size : {std::size_t{100}, std::size_t{3000}, std::size_t{40000}, kMaxFramePayload}) {
    const FrameLog::Frame frame = this->random_frame(30, size);
    Bytes memory(size + 2 * kMaxFrameSegments, std::byte{0x55}), expected = memory;
    const std::size_t part = size / (kMaxFrameSegments - 1);
    this->at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
      into.count = kMaxFrameSegments;
      for (std::size_t i = 0; i < into.count; ++i) {
        const std::size_t at = i * part, bytes = i + 1 == into.count ? size - at : part;
        const bool bin = i % 5 == 2;
        into.segments[i] = {bin ? nullptr : memory.data() + at + 2 * i, bytes};  // a gap between each and the next
        if (!bin) std::copy_n(frame.payload.begin() + static_cast<std::ptrdiff_t>(at), bytes, expected.begin() + static_cast<std::ptrdiff_t>(at + 2 * i));
      }
    };
    const std::size_t before = this->at_b().frames.size();
    this->send_and_spoil(this->lane_a(), this->at_a(), frame);
    ASSERT_TRUE(this->drive([&] { return this->at_b().frames.size() > before; }));
    EXPECT_TRUE(memory == expected) << size;
  }
}

TYPED_TEST_P(RailContract, ABusyLaneTakesNothingAndGivesTheSourceBackWhenAsked) {
  ASSERT_TRUE(this->join());
  FrameLog::Frame frame = this->random_frame(40, kMaxFramePayload);
  const FrameLog::Frame original = frame, other = this->random_frame(10, 10);
  std::size_t frames = 0;
  while (!this->lane_a().busy() && frames < 1000) {
    ASSERT_NE(this->send(this->lane_a(), frame), Lane::Sent::down);
    ++frames;
  }
  if (!this->lane_a().busy()) GTEST_SKIP() << "it never takes a part of a frame";
  EXPECT_EQ(this->send(this->lane_a(), other), Lane::Sent::busy);
  this->lane_a().own_rest();
  std::fill(frame.payload.begin(), frame.payload.end(), std::byte{0xee});
  EXPECT_TRUE(this->lane_a().busy());
  this->lane_a().own_rest();  // once more changes nothing
  ASSERT_TRUE(this->drive([&] { return !this->lane_a().busy(); }));
  EXPECT_EQ(this->at_a().freed, 1);
  ASSERT_NE(this->send(this->lane_a(), other), Lane::Sent::busy);
  ASSERT_TRUE(this->drive([&] { return this->at_b().frames.size() == frames + 1; }));
  for (std::size_t i = 0; i < frames; ++i) EXPECT_TRUE(this->at_b().frames[i] == original) << i;
  EXPECT_TRUE(this->at_b().frames.back() == other);
}

/// Where a frame is received in one go there is nothing to redirect.
TYPED_TEST_P(RailContract, WhatIsRedirectedLeavesItsPlaceAlone) {
  ASSERT_TRUE(this->join());
  const FrameLog::Frame frame = this->random_frame(40, kMaxFramePayload);
  Bytes place(kMaxFramePayload);
  std::size_t begun = 0, sent = 0;
  bool redirected = false;
  this->at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
    into.segments[0] = {place.data(), 1000};
    into.segments[1] = {place.data() + 1000, place.size() - 1000};
    into.count = 2;
    if (redirected) into.segments[0].data = into.segments[1].data = nullptr;  // of the next
    ++begun;
  };
  for (; !this->lane_a().busy() && sent < 100; ++sent) ASSERT_NE(this->send(this->lane_a(), frame), Lane::Sent::down);
  const auto inside = [&] { return begun > this->at_b().frames.size(); };
  ASSERT_TRUE(this->drive([&] { return inside() || this->at_b().frames.size() == sent; }));
  if (!inside()) GTEST_SKIP() << "each frame came in one go";
  const std::size_t before = this->at_b().frames.size();
  this->lane_b().redirect(1);
  std::fill(place.begin() + 1000, place.end(), std::byte{0x77});
  redirected = true;
  ASSERT_TRUE(this->drive([&] { return this->at_b().frames.size() > before; }));
  EXPECT_TRUE(std::all_of(place.begin() + 1000, place.end(), [](std::byte byte) { return byte == std::byte{0x77}; }));
  EXPECT_TRUE(std::equal(place.begin(), place.begin() + 1000, frame.payload.begin())) << "the other segment still comes";
}

TYPED_TEST_P(RailContract, AClosedLaneTouchesNoMemoryAndSaysNothing) {
  ASSERT_TRUE(this->join());
  Bytes place(kMaxFramePayload);
  this->at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
    into.segments[0] = {place.data(), place.size()};
    into.count = 1;
  };
  auto source = std::make_unique<FrameLog::Frame>(this->random_frame(40, kMaxFramePayload));
  bool partly = false;
  for (int i = 0; i < 3 && !partly; ++i) partly = this->send(this->lane_a(), *source) == Lane::Sent::partly;
  for (int i = 0; i < 5; ++i) this->world.step();
  const std::size_t before = this->at_b().frames.size();
  this->lane_b().close();
  std::fill(place.begin(), place.end(), std::byte{0x77});
  this->lane_a().close();
  source.reset();  // whoever reads it now is found by the sanitizer
  this->settle();
  EXPECT_TRUE(std::all_of(place.begin(), place.end(), [](std::byte byte) { return byte == std::byte{0x77}; }));
  EXPECT_EQ(this->at_b().frames.size(), before);
  EXPECT_TRUE(this->at_a().downs.empty());
  EXPECT_TRUE(this->at_b().downs.empty());
  EXPECT_EQ(this->lane_a().send({}, {}), Lane::Sent::down);
  this->world.a.transport->forget(this->lane_a());
  this->world.b.transport->forget(this->lane_b());
  this->settle();
}

TYPED_TEST_P(RailContract, AFrameThatItsReceiverRefusesEndsTheLane) {
  ASSERT_TRUE(this->join());
  this->at_b().on_begin = [](Lane&) { return Status{Code::bad_wire, "that cannot be"}; };
  ASSERT_EQ(this->send(this->lane_a(), this->random_frame(8, 100)), Lane::Sent::whole);
  ASSERT_TRUE(this->drive([&] { return !this->at_a().downs.empty() && !this->at_b().downs.empty(); }));
  EXPECT_NE(this->at_b().downs[0].find("that cannot be"), std::string::npos) << this->at_b().downs[0];
  EXPECT_TRUE(this->at_b().frames.empty());
  EXPECT_EQ(this->at_a().downs.size(), 1u);
  EXPECT_EQ(this->lane_a().send({}, {}), Lane::Sent::down);
}

TYPED_TEST_P(RailContract, HearsThatThePeerIsGone) {
  ASSERT_TRUE(this->join());
  this->world.b.transport.reset();
  ASSERT_TRUE(this->drive([&] { return !this->at_a().downs.empty(); }));
  EXPECT_FALSE(this->at_a().downs[0].empty());
  this->world.a.transport->forget(this->lane_a());
  this->settle();
}

TYPED_TEST_P(RailContract, ReadsWhatCameBeforeTheEnd) {
  ASSERT_TRUE(this->join());
  const FrameLog::Frame frame = this->random_frame(8, 100);
  ASSERT_EQ(this->send(this->lane_a(), frame), Lane::Sent::whole);
  this->lane_a().close();
  ASSERT_TRUE(this->drive([&] { return !this->at_b().downs.empty(); }));
  for (const FrameLog::Frame& each : this->at_b().frames) EXPECT_TRUE(each == frame) << "whole or not at all";
}

/// A peer that does not read costs so much memory and no more.
TYPED_TEST_P(RailContract, TakesNoMoreThanItsQueuesHold) {
  ASSERT_TRUE(this->join());
  this->settle();
  const FrameLog::Frame frame = this->random_frame(40, 64 * 1024);
  EXPECT_TRUE(this->stuff(frame));
  EXPECT_TRUE(this->lane_a().busy());
  EXPECT_GT(this->lane_a().fill(), 0u);
  ASSERT_TRUE(this->drive([&] { return !this->lane_a().busy(); }));
}

TYPED_TEST_P(RailContract, WhatTheOtherSideHasAcknowledgedIsNotUnderWay) {
  ASSERT_TRUE(this->join());
  for (int i = 0; i < 20; ++i) {
    this->send_and_spoil(this->lane_a(), this->at_a(), this->random_frame(40, 50000));
    if (this->HasFatalFailure()) return;
  }
  ASSERT_TRUE(this->drive([&] { return this->at_b().frames.size() == 20; }));
  ASSERT_TRUE(this->drive([&] { return this->lane_a().fill() < 50000; })) << this->lane_a().fill();
  const LanePulse pulse = this->lane_a().pulse();
  EXPECT_GE(pulse.heard, 0);
  EXPECT_GE(this->lane_a().min_rtt(), 0);
}

/// Whoever sleeps on the descriptor wakes up for a frame, and by the other one for payload after doze().
TYPED_TEST_P(RailContract, WakesWhoSleepsOnItsDescriptor) {
  ASSERT_TRUE(this->join());
  this->settle();
  Transport& b = *this->world.b.transport;
  if (!TypeParam::kWakes) GTEST_SKIP() << "it has none";
  for (const Watch watch : {Watch::all, Watch::rare}) {
    this->settle();
    if (watch == Watch::rare) b.doze();
    pollfd sleeper{b.wait_fd(watch), POLLIN, 0};
    const std::size_t before = this->at_b().frames.size();
    ASSERT_EQ(this->send(this->lane_a(), this->random_frame(8, 100)), Lane::Sent::whole);
    for (int i = 0; i < 5; ++i) this->world.step_a();
    EXPECT_EQ(poll(&sleeper, 1, 5000), 1);
    for (int i = 0; i < 1000 && this->at_b().frames.size() == before; ++i) {
      b.progress(watch);
      this->world.step_a();
    }
    EXPECT_EQ(this->at_b().frames.size(), before + 1);
  }
}

TYPED_TEST_P(RailContract, AFrameBeyondTheLimitsEndsTheLane) {
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
    ASSERT_TRUE(this->join());
    EXPECT_EQ(this->lane_a().send(std::span(header).first(frame.header), frame.parts), Lane::Sent::down);
    ASSERT_TRUE(this->drive([&] { return !this->at_a().downs.empty() && !this->at_b().downs.empty(); }));
    EXPECT_TRUE(this->at_b().frames.empty());
  }
}

/// Too few bytes, too many, none.
TYPED_TEST_P(RailContract, PlacesThatAreNotThePayloadsEndTheLane) {
  Bytes place(2000);
  const std::vector<Scatter> wrong[] = {
      {{place.data(), 999}}, {{place.data(), 1000}, {place.data() + 1000, 1}}, {{nullptr, 1001}}, {}};
  for (const std::vector<Scatter>& places : wrong) {
    ASSERT_TRUE(this->join());
    this->at_b().lay_out = [&](ScatterList& into, std::vector<std::byte>&) {
      std::copy(places.begin(), places.end(), into.segments.begin());
      into.count = places.size();
    };
    ASSERT_EQ(this->send(this->lane_a(), this->random_frame(8, 1000)), Lane::Sent::whole);
    ASSERT_TRUE(this->drive([&] { return !this->at_b().downs.empty(); }));
    EXPECT_TRUE(this->at_b().frames.empty());
    EXPECT_TRUE(std::all_of(place.begin() + 1000, place.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

TYPED_TEST_P(RailContract, AdmitsOnlyWhoKnowsTheSecret) {
  if (!TypeParam::kAuthenticates) GTEST_SKIP() << "it does not check";
  this->world.a.secret_bytes[31] ^= 1;
  this->connect();
  ASSERT_TRUE(this->drive([&] { return !this->world.a.failures.empty(); }));
  this->settle();
  EXPECT_TRUE(this->world.a.lanes.empty() && this->world.b.lanes.empty());
}

TYPED_TEST_P(RailContract, AdmitsOnlyWhoIsKnownAndExpected) {
  this->world.b.known = 0;
  this->connect();
  ASSERT_TRUE(this->drive([&] { return this->world.a.failures.size() == 1; }));
  this->world.b.known = this->world.a.self;
  this->world.b.refuse = [](const LaneSpec&) { return true; };
  this->connect();
  ASSERT_TRUE(this->drive([&] { return this->world.a.failures.size() == 2; }));
  EXPECT_FALSE(this->world.a.failures[1].empty());
  EXPECT_EQ(this->world.a.failed[1].peer, this->world.b.self);
  this->settle();
  EXPECT_TRUE(this->world.a.lanes.empty() && this->world.b.lanes.empty());
  this->world.b.refuse = nullptr;
  EXPECT_TRUE(this->join()) << "it is as good as before";
}

TYPED_TEST_P(RailContract, WhatIsNotOfUseAnyMoreTakesNoLanesPlace) {
  this->world.a.of_use = false;
  this->connect();
  ASSERT_TRUE(this->drive([&] { return !this->world.a.failures.empty(); }));
  this->settle();
  EXPECT_TRUE(this->world.a.lanes.empty() && this->world.b.lanes.empty());
}

/// From a peer may come anything; and connect() itself must not call back.
TYPED_TEST_P(RailContract, APlaceThatCannotBeFailsWithAText) {
  RailAddress remote = this->world.b.transport->rails()[0];
  std::vector<std::vector<std::byte>> places{{}, std::vector<std::byte>(kMaxRailPlace, std::byte{0xff})};
  if (!remote.place.empty()) places.emplace_back(remote.place.begin(), remote.place.end() - 1);
  for (const std::vector<std::byte>& place : places) {
    remote.place = place;
    const std::size_t before = this->world.a.failures.size();
    this->world.a.transport->where(remote);
    this->connect(remote);
    EXPECT_EQ(this->world.a.failures.size(), before);
    ASSERT_TRUE(this->drive([&] { return this->world.a.failures.size() > before; })) << place.size() << " bytes";
    EXPECT_FALSE(this->world.a.failures.back().empty());
  }
  EXPECT_TRUE(this->join());
}

TYPED_TEST_P(RailContract, ConnectingToNobodyFailsWithAText) {
  const RailAddress nobody = this->world.b.transport->rails()[0];
  this->world.b.transport.reset();
  this->connect(nobody);
  ASSERT_TRUE(this->drive([&] { return !this->world.a.failures.empty(); }));
  EXPECT_FALSE(this->world.a.failures[0].empty());
}

REGISTER_TYPED_TEST_SUITE_P(RailContract, PublishesRailsThatCanBeWrittenDown, BothEndsHaveTheSameLane,
                            CarriesFramesInOrderBothWays, FillsThePlacesThatItIsGivenAndNothingElse,
                            ABusyLaneTakesNothingAndGivesTheSourceBackWhenAsked, WhatIsRedirectedLeavesItsPlaceAlone,
                            AClosedLaneTouchesNoMemoryAndSaysNothing, AFrameThatItsReceiverRefusesEndsTheLane,
                            HearsThatThePeerIsGone, ReadsWhatCameBeforeTheEnd, TakesNoMoreThanItsQueuesHold,
                            WhatTheOtherSideHasAcknowledgedIsNotUnderWay, WakesWhoSleepsOnItsDescriptor,
                            AFrameBeyondTheLimitsEndsTheLane, PlacesThatAreNotThePayloadsEndTheLane,
                            AdmitsOnlyWhoKnowsTheSecret, AdmitsOnlyWhoIsKnownAndExpected,
                            WhatIsNotOfUseAnyMoreTakesNoLanesPlace, APlaceThatCannotBeFailsWithAText,
                            ConnectingToNobodyFailsWithAText);

}  // namespace nezha::test
