// SPDX-License-Identifier: BSD-3-Clause
/// A rail of libfabric over an endpoint without connections, whose other end and provider are the test: what comes too late, is
/// refused, fails, or is forged.
#include <poll.h>
#include <sys/timerfd.h>

#include "fake_ofi.h"
#include "in_children.h"
#include "rail/ofi/rdm_rail.h"
#include "rdm_end.h"

namespace nezha::test {
namespace {

class RdmRailTest : public testing::Test, protected MessageArrivals {
 protected:
  RdmRailTest() { EXPECT_TRUE(rail->open().ok()); }

  void arrived(std::size_t, std::unique_ptr<QueuePair> pair, std::string) override {
    ends.push_back(std::make_unique<RdmEnd>(std::move(pair)));
  }
  void poll(int times = 3) {
    for (int i = 0; i < times; ++i) rail->poll(Watch::rare, *this);
  }
  RdmEnd& call() {
    std::unique_ptr<QueuePair> pair;
    EXPECT_TRUE(rail->connect(FakeOfi::address(2), pair).ok());
    return *ends.emplace_back(std::make_unique<RdmEnd>(std::move(pair)));
  }
  /// The number in the call that went out last.
  std::uint64_t called() const {
    RdmCall call;
    EXPECT_TRUE(read_rdm_call(ofi.sent.back().bytes, call).ok());
    return call.number;
  }
  bool deliver_call(std::uint64_t number, std::span<const std::byte> address) {
    RdmWords words;
    return ofi.deliver(kCallTag, std::span(words).first(write_rdm_call(words, {number, address})));
  }
  bool deliver_answer(std::uint64_t to, std::uint64_t number) {
    RdmWords words;
    return ofi.deliver(to, std::span(words).first(write_rdm_answer(words, number)));
  }
  /// A pair that has called and was answered by kOther.
  RdmEnd& joined() {
    RdmEnd& end = call();
    poll();
    number = called();
    EXPECT_TRUE(deliver_answer(number, kOther));
    poll();
    EXPECT_TRUE(end.up);
    ofi.sent.clear();
    return end;
  }
  std::size_t posted(std::uint64_t tag) const {
    return static_cast<std::size_t>(
        std::count_if(ofi.receives.begin(), ofi.receives.end(), [&](const FakeOfi::Receive& each) { return each.tag == tag; }));
  }

  static constexpr std::uint64_t kOther = 77;
  FakeOfi ofi;
  std::unique_ptr<RdmRail> rail = std::make_unique<RdmRail>(ofi.library, 0, ofi.info());
  std::vector<std::unique_ptr<RdmEnd>> ends;
  std::uint64_t number = 0;
};

constexpr std::array<std::byte, 9> kMessage{std::byte{5}};

TEST_F(RdmRailTest, ACallIsAnsweredAndItsSenderAloneIsListenedTo) {
  ASSERT_TRUE(deliver_call(kOther, FakeOfi::address(9)));
  poll();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_TRUE(ends[0]->up);
  std::uint64_t answered = 0;
  ASSERT_EQ(ofi.sent.size(), 1U);
  EXPECT_EQ(ofi.sent[0].tag, kOther);
  ASSERT_TRUE(read_rdm_answer(ofi.sent[0].bytes, answered).ok());
  EXPECT_GT(posted(answered), 0U);
  for (const FakeOfi::Receive& each : ofi.receives) EXPECT_TRUE(each.tag != answered || each.from == 9);
  EXPECT_EQ(posted(kCallTag), 16U) << "for the next ones";
}

TEST_F(RdmRailTest, ACallThatCannotBeIsNotAnswered) {
  const std::vector<std::byte> long_one(kMostRdmCall + 1), short_address(15), no_address;
  EXPECT_TRUE(deliver_call(kOther, short_address));
  EXPECT_TRUE(deliver_call(kOther, no_address));
  EXPECT_TRUE(deliver_call(0, FakeOfi::address(2)));
  EXPECT_TRUE(ofi.deliver(kCallTag, kMessage));
  EXPECT_TRUE(ofi.deliver(kCallTag, long_one)) << "it is cut";
  EXPECT_TRUE(ofi.deliver(kCallTag, {}));
  poll();
  EXPECT_TRUE(ends.empty());
  EXPECT_TRUE(ofi.sent.empty());
  EXPECT_EQ(ofi.addresses, 0);
  EXPECT_EQ(posted(kCallTag), 16U);
}

TEST_F(RdmRailTest, AFirstMessageThatIsNoAnswerEndsTheCall) {
  for (int i = 0; i < 2; ++i) {
    RdmEnd& end = call();
    poll();
    ASSERT_TRUE(i == 0 ? ofi.deliver(called(), kMessage) : deliver_answer(called(), 0));
    poll();
    EXPECT_EQ(end.why.code(), Code::bad_wire);
    EXPECT_FALSE(end.up);
    EXPECT_TRUE(end.sizes.empty());
  }
}

TEST_F(RdmRailTest, ACallIsRepeatedUntilThereIsRoom) {
  ofi.send_answer = -FI_EAGAIN;
  RdmEnd& end = call();
  poll();
  EXPECT_TRUE(ofi.sent.empty());
  EXPECT_TRUE(rail->may_sleep(Watch::all)) << "a timer wakes it";
  ofi.send_answer = 0;
  poll();
  ASSERT_EQ(ofi.sent.size(), 1U);
  EXPECT_TRUE(end.why.ok());
  ofi.send_answer = -FI_EHOSTUNREACH;
  RdmEnd& refused = call();
  poll();
  EXPECT_NE(refused.why.text().find("a reason"), std::string::npos);
}

TEST_F(RdmRailTest, MessagesLongerThanTheProvidersAreRefusedWithAText) {
  RdmEnd& end = call();
  std::unique_ptr<QueuePair> pair;
  ASSERT_TRUE(rail->connect(FakeOfi::address(3), pair).ok());
  ofi.endpoint_attributes.max_msg_size = end.slots.size - 1;
  EXPECT_EQ(pair->enroll(end.slots, end).text(), "the provider has no messages of 66560 bytes");
}

TEST_F(RdmRailTest, AProviderThatCannotListenToOneSenderListensToAll) {
  ofi.info()->caps = FI_TAGGED;
  joined();
  EXPECT_GT(posted(number), 0U);
  for (const FakeOfi::Receive& each : ofi.receives) EXPECT_EQ(each.from, FI_ADDR_UNSPEC);
}

TEST_F(RdmRailTest, MessagesAreCopiedUpToTheProvidersSize) {
  RdmEnd& end = joined();
  const std::size_t most = ofi.send_attributes.inject_size;
  EXPECT_EQ(end.pair->post_send(RdmEnd::kSlots, most), QueuePair::Posted::copied);
  EXPECT_EQ(end.pair->post_send(RdmEnd::kSlots, most + 1), QueuePair::Posted::yes);
  ofi.send_attributes.inject_size = 0;
  end.close();
  poll();
  EXPECT_TRUE(ofi.sent.back().bytes.empty());
  EXPECT_NE(ofi.sent.back().context, nullptr) << "nothing is copied where nothing may be, not even no bytes";
}

TEST_F(RdmRailTest, WhatIsToBeToldKeepsASleeperAwake) {
  call();
  EXPECT_FALSE(rail->may_sleep(Watch::all));
  poll();
  EXPECT_TRUE(rail->may_sleep(Watch::all));
}

TEST_F(RdmRailTest, ASleeperIsWokenThoughTheProviderWakesNobody) {
  std::vector<int> fds, none;
  ASSERT_TRUE(rail->descriptors(Watch::rare, fds).ok() && rail->descriptors(Watch::all, none).ok());
  ASSERT_EQ(fds.size(), 1U);
  EXPECT_TRUE(none.empty());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rail->may_sleep(Watch::all));
    pollfd wait{fds[0], POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 5000), 1);
    poll(1);
    EXPECT_EQ(::poll(&wait, 1, 0), 0);
  }
}

TEST_F(RdmRailTest, ASleeperLooksSoonAfterAMessage) {
  std::vector<int> fds;
  ASSERT_TRUE(rail->descriptors(Watch::rare, fds).ok());
  RdmEnd& end = joined();
  const auto armed = [&] {
    EXPECT_TRUE(rail->may_sleep(Watch::all));
    itimerspec left{};
    EXPECT_EQ(timerfd_gettime(fds[0], &left), 0);
    return left.it_value;
  };
  for (int i = 0; i < 8; ++i) {
    armed();
    pollfd wait{fds[0], POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 5000), 1);
    poll(1);
  }
  ASSERT_EQ(end.pair->post_send(RdmEnd::kSlots, 1000), QueuePair::Posted::yes);
  const timespec span = armed();
  EXPECT_EQ(span.tv_sec, 0);
  EXPECT_LE(span.tv_nsec, 50000);
}

/// Long ones are overtaken by short ones, but they are matched to receives in their order.
TEST_F(RdmRailTest, CompletionsInAnyOrderAreHandedOverInThatOfTheReceives) {
  RdmEnd& end = joined();
  for (std::uint8_t i = 1; i <= 3; ++i) ASSERT_TRUE(ofi.deliver(number, std::array{std::byte{i}}));
  std::swap(ofi.done[0], ofi.done[2]);
  const fi_cq_msg_entry first = ofi.done[2];
  ofi.done.pop_back();
  poll();
  EXPECT_TRUE(end.firsts.empty());
  ofi.done.push_back(first);
  poll();
  EXPECT_EQ(end.firsts, (std::vector{std::byte{1}, std::byte{2}, std::byte{3}}));
}

TEST_F(RdmRailTest, ReceivesForWhichThereIsNoRoomArePostedLater) {
  RdmEnd& end = joined();
  const std::size_t before = posted(number);
  ofi.receive_answer = -FI_EAGAIN;
  ASSERT_TRUE(ofi.deliver(number, kMessage));
  ASSERT_TRUE(deliver_call(kOther, FakeOfi::address(2)));
  poll();
  EXPECT_TRUE(end.why.ok());
  EXPECT_EQ(posted(number), before - 1);
  EXPECT_EQ(posted(kCallTag), 15U);
  EXPECT_TRUE(rail->may_sleep(Watch::all)) << "a timer wakes it";
  ofi.receive_answer = 0;
  poll();
  EXPECT_EQ(posted(number), before);
  EXPECT_EQ(posted(kCallTag), 16U);
}

/// But for the slots, which are the test's.
TEST_F(RdmRailTest, ItsOwnMessagesLieInPagesThatNoChildOfThisProcessHas) {
  ofi.send_attributes.inject_size = 0;
  joined();
  ASSERT_EQ(ofi.registered.size(), 3U);
  for (const std::size_t each : {0, 2}) {
    EXPECT_TRUE(begins_a_page(ofi.registered[each]));
    EXPECT_FALSE(children_have(ofi.registered[each]));
  }
}

TEST_F(RdmRailTest, AFailedOperationBreaksThePair) {
  for (const bool sends : {true, false}) {
    RdmEnd& end = joined();
    ASSERT_EQ(end.pair->post_send(RdmEnd::kSlots, 1000), QueuePair::Posted::yes);
    if (sends)
      ofi.fail(ofi.sent.back().context, FI_EIO, FI_SEND);
    else
      ASSERT_TRUE(ofi.deliver(number, std::vector<std::byte>(65 * 1024 + 1)));
    poll();
    EXPECT_EQ(end.why.text(), sends ? "sending: a reason" : "receiving: a reason");
    EXPECT_TRUE(end.sizes.empty());
  }
}

TEST_F(RdmRailTest, WhatBefallsTheEndpointBreaksItsPairs) {
  RdmEnd& end = joined();
  ofi.mishaps.push_back(FI_EIO);
  poll();
  EXPECT_EQ(end.why.text(), "the endpoint: a reason");
}

TEST_F(RdmRailTest, AnErrorOfItsCompletionsBreaksItsPairs) {
  RdmEnd& end = joined();
  ofi.read_answer = -FI_EIO;
  poll();
  EXPECT_EQ(end.why.text(), "fi_cq_read: a reason");
}

TEST_F(RdmRailTest, AProviderWithoutEventsServesToo) {
  ofi.has_events = false;
  rail = std::make_unique<RdmRail>(ofi.library, 0, ofi.info());
  ASSERT_TRUE(rail->open().ok());
  ofi.mishaps.push_back(FI_EIO);
  EXPECT_TRUE(joined().why.ok()) << "nobody reads a queue that is not bound";
}

/// Both ends have said close; a send has not completed, nor was a receive taken back.
TEST_F(RdmRailTest, MemoryStaysRegisteredUntilTheLastCompletionHasCome) {
  ofi.cancels = false;
  const int regions = ofi.regions;
  RdmEnd& end = joined();
  ASSERT_EQ(end.pair->post_send(RdmEnd::kSlots, 1000), QueuePair::Posted::yes);
  const FakeOfi::Sent late = ofi.sent.back();
  end.close();
  poll();
  EXPECT_TRUE(ofi.sent.back().bytes.empty() && ofi.sent.back().tag == kOther) << "its close";
  ASSERT_TRUE(ofi.deliver(number, {}));
  poll();
  while (ofi.deliver(number, kMessage)) {}
  poll();
  EXPECT_EQ(rail->streams(), 1U);
  EXPECT_FALSE(end.memory.expired());
  EXPECT_GT(ofi.regions, regions);
  ofi.complete(late);
  poll();
  EXPECT_EQ(rail->streams(), 0U);
  EXPECT_TRUE(end.memory.expired());
  EXPECT_EQ(ofi.regions, regions);
  EXPECT_EQ(ofi.addresses, 0);
  EXPECT_EQ(end.read, 0) << "a closed pair is told nothing";
}

TEST_F(RdmRailTest, WhatComesAfterACloseIsTakenUntilTheOtherEndSaysCloseToo) {
  RdmEnd& end = joined();
  end.close();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(ofi.deliver(number, kMessage)) << i;
    poll();
  }
  EXPECT_TRUE(end.sizes.empty());
  ASSERT_TRUE(ofi.deliver(number, {}));
  poll();
  EXPECT_EQ(rail->streams(), 0U);
  EXPECT_EQ(posted(number), 0U);
}

TEST_F(RdmRailTest, WhoCloseCannotReachIsForgotten) {
  RdmEnd& end = joined();
  ofi.send_answer = -FI_EAGAIN;
  end.close();
  poll(100);
  EXPECT_EQ(rail->streams(), 1U) << "it is tried again";
  poll(1000);
  EXPECT_EQ(rail->streams(), 0U);
  ofi.send_answer = 0;
  joined().close();
  ofi.send_answer = -FI_EHOSTUNREACH;
  poll();
  EXPECT_EQ(rail->streams(), 0U);
}

TEST_F(RdmRailTest, ACallerThatHasGivenUpSaysSoWhenTheAnswerComes) {
  RdmEnd& end = call();
  poll();
  number = called();
  end.close();
  poll();
  EXPECT_EQ(rail->streams(), 1U);
  ASSERT_TRUE(deliver_answer(number, kOther));
  poll();
  EXPECT_FALSE(end.up);
  EXPECT_TRUE(ofi.sent.back().bytes.empty() && ofi.sent.back().tag == kOther);
}

TEST_F(RdmRailTest, PairsAndTheirAddressesGoWithTheRail) {
  joined();
  call();
  poll();
  for (const auto& end : ends) end->pair.reset();
  rail.reset();
  EXPECT_EQ(ofi.addresses, 0);
  EXPECT_EQ(ofi.regions, 0);
}

}  // namespace
}  // namespace nezha::test
