// SPDX-License-Identifier: BSD-3-Clause
/// Rails of libfabric over connected endpoints: the transports of two processes in one, over its provider for TCP and the loopback
/// interface. Skipped where the library is not installed.
#include <netinet/in.h>

#include <cstring>

#include "ofi_world.h"
#include "rail/ofi/ofi_address.h"
#include "rail_contract.h"

namespace nezha::test {
namespace {

class OfiTest : public testing::Test {
 protected:
  void SetUp() override {
    Status why;
    library = OfiLibrary::load(why);
    if (library == nullptr) GTEST_SKIP() << why.text();
  }

  const OfiLibrary* library = nullptr;
};

class OfiLanes : public OfiTest {
 protected:
  void SetUp() override {
    OfiTest::SetUp();
    if (IsSkipped()) return;
    a.known = b.self, b.known = a.self;
    open(a);
    open(b);
  }
  void open(Side& side) {
    OfiDiscovery found;
    side.why = discover_ofi(*library, words("tcp:lo"), {}, found);
    ASSERT_TRUE(side.why.ok()) << side.why.text();
    ASSERT_EQ(found.chosen.size(), 1U);
    const Log log(Side::write_line, &side, 2);
    auto kind = make_ofi_kind(*library, std::move(found.chosen), log, &side.why);
    ASSERT_TRUE(kind) << side.why.text();
    side.transport = make_message_transport(std::move(kind), options, clock, log, side, side.self, &side.why);
    ASSERT_TRUE(side.transport) << side.why.text();
  }
  void connect() { a.transport->connect({b.self, 0, 0, false}, 0, b.transport->rails()[0], clock.now() + kSecond); }
  [[nodiscard]] bool join() {
    connect();
    return drive([&] { return !a.lanes.empty() && !b.lanes.empty(); }, a, b);
  }
  static Lane::Sent send(Lane& lane, const FrameLog::Frame& frame) {
    return lane.send(frame.header, std::vector<Gather>{{frame.payload.data(), frame.payload.size()}});
  }

  HandClock clock;
  MessageOptions options = ofi_options(0);
  Side a{11}, b{22};
  Random random{5};
};

TEST_F(OfiLanes, CarryFramesBothWays) {
  ASSERT_TRUE(join()) << testing::PrintToString(a.failures) << testing::PrintToString(b.lines);
  EXPECT_EQ(a.transport->rails()[0].label(), "ofi/tcp:lo");
  EXPECT_EQ(a.transport->where(a.transport->rails()[0]).find("127.0.0.1:"), 0U);
  std::vector<FrameLog::Frame> there;
  for (const std::size_t size : {0UL, 1UL, 5000UL, kMaxFramePayload, 100000UL, kMaxFramePayload})
    there.push_back({random_contents(random, 40), random_contents(random, size)});
  for (const FrameLog::Frame& frame : there) {
    for (Side* side : {&a, &b}) {
      const int freed = side->logs[0]->freed;
      const Lane::Sent sent = send(*side->lanes[0], frame);
      ASSERT_TRUE(sent == Lane::Sent::whole || sent == Lane::Sent::partly);
      ASSERT_TRUE(sent == Lane::Sent::whole || drive([&] { return side->logs[0]->freed > freed; }, a, b));
    }
  }
  ASSERT_TRUE(drive([&] { return b.logs[0]->frames.size() == there.size() && a.logs[0]->frames.size() == there.size(); }, a, b));
  EXPECT_EQ(a.logs[0]->frames, there);
  EXPECT_EQ(b.logs[0]->frames, there);
}

TEST_F(OfiLanes, TheEndOfTheOtherSideShowsAndANewLaneComesUp) {
  ASSERT_TRUE(join());
  a.lanes[0]->close();
  a.transport->forget(*a.lanes[0]);
  ASSERT_TRUE(drive([&] { return b.logs[0]->downs.size() == 1; }, a, b));
  EXPECT_EQ(b.logs[0]->downs[0], "the other side closed the connection");
  b.transport->forget(*b.lanes[0]);
  connect();
  ASSERT_TRUE(drive([&] { return a.lanes.size() == 2 && b.lanes.size() == 2; }, a, b));
  const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 100)};
  ASSERT_EQ(send(*b.lanes[1], frame), Lane::Sent::whole);
  ASSERT_TRUE(drive([&] { return a.logs[1]->frames.size() == 1; }, a, b));
  EXPECT_EQ(a.logs[1]->frames[0], frame);
}

/// Frames of a lane that is closed in their middle; the memory they came from is gone at once.
TEST_F(OfiLanes, ACloseInTheMiddleOfFramesTouchesNothingAfterwards) {
  for (int i = 0; i < 5; ++i) {
    const std::size_t lane = a.lanes.size();
    connect();
    ASSERT_TRUE(drive([&] { return a.lanes.size() > lane && b.lanes.size() > lane; }, a, b));
    {
      const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, kMaxFramePayload)};
      while (send(*a.lanes[lane], frame) == Lane::Sent::whole) {}
      a.lanes[lane]->close();
      a.transport->forget(*a.lanes[lane]);
    }
    ASSERT_TRUE(drive([&] { return b.logs[lane]->downs.size() == 1; }, a, b));
    b.transport->forget(*b.lanes[lane]);
  }
}

/// Whoever waits for the descriptor is woken: here nobody looks unless it says so.
TEST_F(OfiLanes, TheDescriptorWakesUpForEachMessage) {
  ASSERT_TRUE(join());
  settle(a, b);
  for (int i = 0; i < 50; ++i) {
    pollfd wait{b.transport->wait_fd(Watch::all), POLLIN, 0};
    const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 100)};
    ASSERT_EQ(send(*a.lanes[0], frame), Lane::Sent::whole);
    a.transport->progress(Watch::all);
    const std::size_t frames = b.logs[0]->frames.size();
    while (b.logs[0]->frames.size() == frames) {
      ASSERT_EQ(poll(&wait, 1, 5000), 1) << i;
      b.transport->progress(Watch::all);
      wait.fd = b.transport->wait_fd(Watch::all);
    }
  }
}

/// Nobody is in a call and the process is about to sleep.
TEST_F(OfiLanes, ADozingProcessIsWokenByPayload) {
  ASSERT_TRUE(join());
  settle(a, b);
  pollfd wait{b.transport->wait_fd(Watch::rare), POLLIN, 0};
  b.transport->arm_payload_wakeup();
  const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 100)};
  ASSERT_EQ(send(*a.lanes[0], frame), Lane::Sent::whole);
  a.transport->progress(Watch::all);
  while (b.logs[0]->frames.empty()) {
    ASSERT_EQ(poll(&wait, 1, 5000), 1);
    b.transport->progress(Watch::rare);
    wait.fd = b.transport->wait_fd(Watch::rare);
    b.transport->arm_payload_wakeup();
  }
}

/// Else each payload of a busy program that was idle once would wake its service thread.
TEST_F(OfiLanes, APayloadWakeupIsEndedByWhoeverLooks) {
  ASSERT_TRUE(join());
  for (const Watch watch : {Watch::all, Watch::rare}) {
    settle(a, b);
    b.transport->arm_payload_wakeup();
    b.transport->progress(watch);
    pollfd wait{b.transport->wait_fd(Watch::rare), POLLIN, 0};
    const std::size_t frames = b.logs[0]->frames.size();
    const FrameLog::Frame frame{random_contents(random, 40), random_contents(random, 100)};
    ASSERT_EQ(send(*a.lanes[0], frame), Lane::Sent::whole);
    settle(a, a);
    EXPECT_EQ(poll(&wait, 1, 20), 0);
    ASSERT_TRUE(drive([&] { return b.logs[0]->frames.size() > frames; }, a, b));
  }
}

TEST_F(OfiLanes, NobodyListensThereAnyMore) {
  const RailAddress gone = b.transport->rails()[0];
  b.transport.reset();
  a.transport->connect({b.self, 0, 0, false}, 0, gone, clock.now() + kSecond);
  const auto drive_a = [&] {
    for (int i = 0; i < 2000 && a.failed.empty(); ++i) {
      a.transport->progress(Watch::all);
      poll(nullptr, 0, 1);
    }
    return !a.failed.empty();
  };
  ASSERT_TRUE(drive_a());
  EXPECT_NE(a.failures[0].find("ofi/tcp:lo to 127.0.0.1:"), std::string::npos) << a.failures[0];
}

TEST_F(OfiLanes, AnAddressThatNoPeerCanHaveIsRefused) {
  RailAddress wrong = b.transport->rails()[0];
  wrong.place.resize(3);
  a.transport->connect({b.self, 0, 0, false}, 0, wrong, clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return a.failed.size() == 1; }, a, b));
  EXPECT_NE(a.failures[0].find("address is none of this provider"), std::string::npos) << a.failures[0];
}

TEST_F(OfiTest, RailsAreNamedByProviderAndDomainOrDomainOrAddress) {
  for (const char* word : {"tcp:lo", "lo", "127.0.0.0/8"}) {
    OfiDiscovery found;
    ASSERT_TRUE(discover_ofi(*library, words(word), {}, found).ok());
    ASSERT_EQ(found.chosen.size(), 1U) << word;
    EXPECT_NE(found.chosen[0].name.find(":lo"), std::string::npos);
    EXPECT_EQ(ip_of(found.chosen[0].info->addr_format, source_of(*found.chosen[0].info)).family, 4);
  }
  OfiDiscovery none;
  ASSERT_TRUE(discover_ofi(*library, words("ofi/tcp:nowhere0"), {}, none).ok());
  EXPECT_TRUE(none.chosen.empty());
  EXPECT_EQ(none.unknown, std::vector<std::string>{"ofi/tcp:nowhere0"});
  EXPECT_FALSE(none.available.empty());
}

TEST_F(OfiTest, AnExcludedOneIsNone) {
  for (const char* word : {"tcp:lo", "lo", "127.0.0.0/8"}) {
    OfiDiscovery found;
    ASSERT_TRUE(discover_ofi(*library, words("tcp:lo"), words(word), found).ok());
    EXPECT_TRUE(found.chosen.empty()) << word;
    EXPECT_TRUE(found.unknown.empty()) << word;
  }
}

TEST_F(OfiTest, TheOrderOfTheWordsIsThatOfTheRails) {
  OfiDiscovery found;
  ASSERT_TRUE(discover_ofi(*library, words("sockets:lo,tcp:lo"), {}, found).ok());
  if (found.chosen.size() != 2) GTEST_SKIP() << "this libfabric has no provider sockets";
  EXPECT_EQ(found.chosen[0].name, "sockets:lo");
  EXPECT_EQ(found.chosen[1].name, "tcp:lo");
}

TEST(OfiAddress, OnlyWhatIsLikeOnesOwnFits) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(4711);
  in.sin_addr.s_addr = htonl(0x0a010007);
  std::vector<std::byte> bytes(sizeof in);
  std::memcpy(bytes.data(), &in, sizeof in);
  EXPECT_EQ(ofi_address_text(FI_SOCKADDR_IN, bytes), "10.1.0.7:4711");
  EXPECT_TRUE(fits(FI_SOCKADDR_IN, bytes, bytes));
  std::vector<std::byte> other = bytes;
  other[0] = std::byte{AF_UNIX};
  EXPECT_FALSE(fits(FI_SOCKADDR_IN, other, bytes));
  other.pop_back();
  EXPECT_FALSE(fits(FI_SOCKADDR_IN, other, bytes));
  EXPECT_FALSE(fits(FI_SOCKADDR_IN, {}, {}));
  EXPECT_EQ(ofi_address_text(FI_ADDR_PSMX2, std::vector<std::byte>{std::byte{0x1f}, std::byte{0xa0}}), "1fa0");
}

/// The contract, kept by libfabric's own TCP.
constexpr char kConnected[] = "tcp:lo";
INSTANTIATE_TEST_SUITE_P(Ofi, RailContract, testing::Values(made<OfiWorld<kConnected>>));

}  // namespace
}  // namespace nezha::test
