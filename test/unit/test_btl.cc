// SPDX-License-Identifier: BSD-3-Clause
/// Rails over the host's byte transfer layers, beyond what the contract asks of every kind (test_rail_contract.cc): whose thread
/// may send, and what comes from anybody.
#include "btl_pair_of_hosts.h"
#include "random_bytes.h"

namespace nezha::test {
namespace {

class BtlLanes : public testing::Test {
 protected:
  BtlLanes() {
    at_a.other = &at_b, at_b.other = &at_a;
    a.known = b.self, b.known = a.self;
    open(a, at_a, 0);
    open(b, at_b, 1);
  }
  void open(Side& side, FakeHost& host, std::uint32_t rank) {
    side.transport = make_message_transport(make_btl_kind(host, rank), options, clock, Log(Side::write_line, &side, 2), side,
                                            side.self, &side.why);
    ASSERT_TRUE(side.transport) << side.why.text();
  }
  /// Asks for a lane that b does not hear of yet.
  void connect_while_b_is_away() {
    at_b.here = false;
    connect(b.transport->rails()[0]);
    drive([] { return false; });
  }
  void end() {
    for (Side* side : {&a, &b}) side->transport->ending();
  }
  template <typename Done>
  bool drive(const Done& done) {
    for (int idle = 0; idle < 100;) {
      const bool sent = at_a.deliver() | at_b.deliver();
      const bool any = a.transport->progress(Watch::all) | b.transport->progress(Watch::all) | sent;
      if (done()) return true;
      idle = any ? 0 : idle + 1;
    }
    return false;
  }
  void connect(const RailAddress& remote) { a.transport->connect({b.self, 0, 0, false}, 0, remote, clock.now() + kSecond); }
  [[nodiscard]] bool join() {
    connect(b.transport->rails()[0]);
    return drive([&] { return !a.lanes.empty() && !b.lanes.empty(); });
  }
  void forge(FakeHost& to, const BtlHead& head, std::size_t body) {
    const auto bytes = write_btl_head(head);
    const std::vector<std::byte> more(body, std::byte{0x5a});
    const std::array<std::span<const std::byte>, 2> pieces{std::span<const std::byte>(bytes), more};
    to.arrived(pieces);
  }

  HandClock clock;
  MessageOptions options = btl_options(0);
  FakeHost at_a, at_b;
  Side a{11}, b{22};
  Random random{3};
};

TEST_F(BtlLanes, SendOnlyInThreadsOfTheHosts) {
  at_a.here = false;
  connect(b.transport->rails()[0]);
  EXPECT_FALSE(drive([&] { return !a.lanes.empty(); }));
  EXPECT_EQ(at_a.sent, 0U);
  at_a.here = true;
  ASSERT_TRUE(drive([&] { return !a.lanes.empty() && !b.lanes.empty(); }));
  at_a.here = false;
  const std::size_t before = at_a.sent;
  const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 1000)};
  ASSERT_EQ(a.lanes[0]->send(frame.header, std::vector<Gather>{{frame.payload.data(), frame.payload.size()}}), Lane::Sent::whole);
  EXPECT_FALSE(drive([&] { return !b.logs[0]->frames.empty(); }));
  EXPECT_EQ(at_a.sent, before);
  EXPECT_EQ(a.transport->next_deadline(), 0) << "it would be woken for what it may not do";
  at_a.here = true;
  ASSERT_TRUE(drive([&] { return !b.logs[0]->frames.empty(); }));
  EXPECT_EQ(b.logs[0]->frames[0], frame);
}

TEST_F(BtlLanes, NobodyAnswersForAProcessThatComputes) {
  ASSERT_TRUE(join());
  EXPECT_EQ(a.lanes[0]->answers(), Answers::call);
  at_b.here = false;
  const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 1000)};
  ASSERT_EQ(a.lanes[0]->send(frame.header, std::vector<Gather>{{frame.payload.data(), frame.payload.size()}}), Lane::Sent::whole);
  drive([] { return false; });
  clock.advance(10 * kSecond);
  EXPECT_EQ(a.lanes[0]->pulse().in_flight, 0U);
}

/// Else the service thread of a process that computes would never sleep.
TEST_F(BtlLanes, HoldNothingOnceTheLastMessageIsSomeTimeAgo) {
  ASSERT_TRUE(join());
  const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 1000)};
  const std::vector<Gather> payload{{frame.payload.data(), frame.payload.size()}};
  for (const bool sends : {true, false}) {
    at_a.here = sends;
    for (const Side* side : {&a, &b}) ASSERT_EQ(side->lanes[0]->send(frame.header, payload), Lane::Sent::whole);
    drive([] { return false; });
    EXPECT_GT(a.lanes[0]->fill(), 0U) << "it may be on its way";
    clock.advance(options.call_time);
    for (const Side* side : {&a, &b}) EXPECT_EQ(side->lanes[0]->fill(), 0U);
  }
  at_a.here = true;
  EXPECT_TRUE(drive([&] { return a.logs[0]->frames.size() == 2 && b.logs[0]->frames.size() == 2; }));
}

/// Open MPI 5.0's own layer for TCP ends a process by SIGPIPE where its peer went and had not read all.
TEST_F(BtlLanes, AreClosedAtBothEndsBeforeTheirProcessesGo) {
  ASSERT_TRUE(join());
  drive([] { return false; });
  end();
  a.transport->part();
  drive([] { return false; });
  EXPECT_EQ(b.logs[0]->downs.size(), 1U) << "its lane is closed";
  EXPECT_TRUE(a.transport->parted()) << "b has said so";
  b.transport->part();
  EXPECT_TRUE(b.transport->parted());
}

TEST_F(BtlLanes, AreWaitedForWhileTheOtherEndIsOpen) {
  ASSERT_TRUE(join());
  drive([] { return false; });
  end();
  at_b.here = false;
  const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 1000)};
  ASSERT_EQ(b.lanes[0]->send(frame.header, std::vector<Gather>{{frame.payload.data(), frame.payload.size()}}), Lane::Sent::whole);
  a.transport->part();
  drive([] { return false; });
  EXPECT_FALSE(a.transport->parted()) << "something of b's may be on its way";
  at_b.here = true;
  b.transport->part();
  drive([] { return false; });
  EXPECT_TRUE(a.transport->parted() && b.transport->parted());
}

TEST_F(BtlLanes, AreNotMadeAnyMoreAtTheEnd) {
  end();
  connect(b.transport->rails()[0]);
  drive([] { return false; });
  EXPECT_EQ(a.failures.size(), 1U);
  EXPECT_EQ(at_a.sent, 0U);
}

/// The other end learns of it and of its end at once.
TEST_F(BtlLanes, OnesThatWereNotAnsweredYetAreClosedAtBothEnds) {
  connect_while_b_is_away();
  end();
  a.transport->part();
  drive([] { return false; });
  EXPECT_FALSE(a.transport->parted());
  at_b.here = true;
  drive([] { return false; });
  EXPECT_TRUE(a.transport->parted());
}

/// It may have been asked for just before.
TEST_F(BtlLanes, OnesThatCameTooLateAreClosedToo) {
  connect_while_b_is_away();
  end();
  b.transport->part();
  a.transport->part();
  EXPECT_FALSE(a.transport->parted());
  at_b.here = true;
  drive([] { return false; });
  EXPECT_TRUE(a.transport->parted() && b.transport->parted());
  EXPECT_TRUE(b.lanes.empty());
}

TEST_F(BtlLanes, AProcessThatComputesIsWaitedFor) {
  at_b.here = false;
  connect(b.transport->rails()[0]);
  EXPECT_FALSE(drive([&] { return !a.lanes.empty(); }));
  clock.advance(2 * kSecond);
  EXPECT_FALSE(drive([&] { return !a.failures.empty(); }));
  at_b.here = true;
  EXPECT_TRUE(drive([&] { return !a.lanes.empty() && !b.lanes.empty(); }));
}

TEST_F(BtlLanes, ACallThatWasGivenUpIsNotAnswered) {
  connect_while_b_is_away();
  clock.advance(options.admission_time);
  drive([] { return false; });
  ASSERT_EQ(a.failures.size(), 1U);
  at_b.here = true;
  drive([] { return false; });
  EXPECT_EQ(at_b.sent, 0U);
  EXPECT_TRUE(join()) << "the next one is";
}

TEST_F(BtlLanes, AModuleOrARankThatIsNotThereIsATextAndNoLane) {
  RailAddress remote = b.transport->rails()[0];
  remote.place[0] = std::byte{9};
  connect(remote);
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }));
  EXPECT_NE(a.failures[0].find("rank 9"), std::string::npos) << a.failures[0];
  EXPECT_NE(a.failures[0].find("no byte transfer layer"), std::string::npos) << a.failures[0];
}

TEST_F(BtlLanes, WhatNobodySentForThemDoesNoHarm) {
  ASSERT_TRUE(join());
  for (std::uint64_t number = 0; number < 4; ++number) {
    forge(at_a, {BtlType::data, 0, 7, number, 1}, 100);                  // of another rank
    forge(at_a, {BtlType::close, 0, 1, number, 77}, 0);                  // of another connection
    forge(at_a, {BtlType::data, 3, 1, number, 1}, 100);                  // of another rail
    forge(at_a, {static_cast<BtlType>(9), 0, 1, number, 1}, 0);          // of another version
    forge(at_a, {BtlType::call, 5, 1, number, 1}, 0);
  }
  const std::vector<std::byte> stump(kBtlHead - 1);
  const std::array<std::span<const std::byte>, 1> pieces{std::span<const std::byte>(stump)};
  at_a.arrived(pieces);
  drive([] { return false; });
  EXPECT_TRUE(a.logs[0]->downs.empty());
  EXPECT_EQ(a.lanes.size(), 1U);
  forge(at_a, {BtlType::data, 0, 1, 1, 1}, options.slot + 1);  // the peer's own, and too long
  ASSERT_TRUE(drive([&] { return a.logs[0]->downs.size() == 1; }));
  a.transport->forget(*a.lanes[0]);
  ASSERT_TRUE(drive([&] { return b.logs[0]->downs.size() == 1; })) << "it has been told";
}

}  // namespace
}  // namespace nezha::test
