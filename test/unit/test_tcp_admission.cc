// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "open_descriptors.h"
#include "rail/proof.h"
#include "tcp_through.h"

namespace nezha::test {
namespace {

std::uint16_t port_of(const RailAddress& rail) {
  TcpPlace place;
  EXPECT_TRUE(read_place(rail, place));
  return place.port;
}

Hello hello_of(ProcessId from, ProcessId to) { return {from, to, 0, 0, true, {}}; }

TEST_F(TcpPair, AdmitsLanesOnEveryRail) {
  ASSERT_TRUE(join(0));
  ASSERT_TRUE(join(1));
  for (std::uint8_t rail : {0, 1}) {
    EXPECT_EQ(a.lanes[rail]->spec().peer, b.self);
    EXPECT_EQ(b.lanes[rail]->spec().peer, a.self);
    EXPECT_EQ(b.lanes[rail]->spec().local_rail, rail);
    EXPECT_EQ(b.lanes[rail]->spec().remote_rail, rail);
    EXPECT_TRUE(b.lanes[rail]->spec().same_node);
  }
  EXPECT_TRUE(a.failures.empty() && b.failures.empty());
}

TEST_F(TcpPair, TheSpecTravelsWithTheGreeting) {
  a.transport->connect({b.self, 1, 0, false}, 1, b.transport->rails()[0], clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return !b.lanes.empty(); }, a, b));
  EXPECT_EQ(b.lanes[0]->spec().local_rail, 0);
  EXPECT_EQ(b.lanes[0]->spec().remote_rail, 1);
  EXPECT_FALSE(b.lanes[0]->spec().same_node);
}

TEST_F(TcpPair, RefusesAnotherSecret) {
  a.secret_bytes[31] ^= 1;
  connect(0);
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }, a, b));
  EXPECT_NE(a.failures[0].find("does not know the job's secret"), std::string::npos) << a.failures[0];
  EXPECT_NE(a.failures[0].find("tcp/lo0"), std::string::npos) << a.failures[0];
  settle(a, b);
  EXPECT_TRUE(a.lanes.empty() && b.lanes.empty());
}

TEST_F(TcpPair, RefusesALaneThatIsNotExpected) {
  b.refuse = [](const LaneSpec& spec) { return spec.remote_rail == 1; };
  ASSERT_TRUE(join(0));
  connect(1);
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }, a, b));
  EXPECT_EQ(a.failed[0].local_rail, 1);
  EXPECT_TRUE(b.logged("no such lane is expected"));
}

TEST_F(TcpPair, WhatIsNotOfUseAnyMoreTakesNoLanesPlace) {
  ASSERT_TRUE(join(0));
  a.of_use = false;
  connect(0);
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }, a, b));
  EXPECT_NE(a.failures[0].find("the lane that was silent answers again"), std::string::npos) << a.failures[0];
  settle(a, b);
  EXPECT_EQ(a.lanes.size(), 1U);
  EXPECT_EQ(b.lanes.size(), 1U);
}

TEST_F(TcpPair, RefusesStrangersAndKeepsLanes) {
  ASSERT_TRUE(join());
  Hello wrong_rail = hello_of(a.self, b.self);
  wrong_rail.to_rail = 1;
  HelloBytes other_version = write_hello(hello_of(a.self, b.self));
  other_version[4] = std::byte{9};
  HelloBytes flags = write_hello(hello_of(a.self, b.self));
  flags[7] = std::byte{1};
  HelloBytes http{};
  std::fill(http.begin(), http.end(), std::byte{'G'});
  const HelloBytes bad[] = {http, other_version, flags, write_hello(wrong_rail),
                            write_hello(hello_of(a.self, b.self + 1)), write_hello(hello_of(a.self + 1, b.self))};
  for (const HelloBytes& hello : bad) {
    Stranger stranger(b.transport->rails()[0]);
    stranger.say(hello);
    EXPECT_TRUE(drive([&] { return stranger.closed(); }, a, b));
  }
  EXPECT_TRUE(b.logged("it does not speak this protocol"));
  EXPECT_EQ(a.lanes[0]->send({}, {}), Lane::Sent::whole);
  EXPECT_TRUE(drive([&] { return b.logs[0]->frames.size() == 1; }, a, b));
  EXPECT_EQ(b.lanes.size(), 1U);
}

TEST_F(TcpPair, AChallengeTurnedAroundIsNoProof) {
  Stranger stranger(b.transport->rails()[0]);
  stranger.say(write_hello(hello_of(a.self, b.self)));
  std::vector<std::byte> challenge;
  bool over = false;
  ASSERT_TRUE(drive([&] { return (challenge = stranger.hear(over)).size() == kChallengeSize; }, b));
  stranger.say(std::span(challenge).subspan(kNonceSize));
  EXPECT_TRUE(drive([&] { return stranger.closed(); }, b));
  EXPECT_TRUE(b.lanes.empty());
  EXPECT_TRUE(b.logged("it does not know the job's secret"));
}

TEST_F(TcpPair, ARecordedHandshakeCannotBeReplayed) {
  Trap trap;
  connect(0, trap.address);
  Fd from_a;
  ASSERT_TRUE(drive([&] { return bool(from_a = trap.accept()); }, a, b));
  InTheMiddle middle(std::move(from_a), b.transport->rails()[0]);
  ASSERT_TRUE(drive([&] { return middle.carry(), a.lanes.size() == 1 && b.lanes.size() == 1; }, a, b));
  ASSERT_EQ(middle.said.size(), kHelloSize + kProofSize);

  Stranger stranger(b.transport->rails()[0]);
  stranger.say(middle.said);
  EXPECT_TRUE(drive([&] { return stranger.closed(); }, a, b));
  EXPECT_EQ(b.lanes.size(), 1U);
  EXPECT_TRUE(b.logged("it does not know the job's secret"));
}

/// Else what another process once answered could be said again to this one.
TEST_F(TcpPair, NoTwoGreetingsAreAlike) {
  const auto greeting = [&] {
    Trap trap;
    connect(0, trap.address);
    Fd from_a;
    EXPECT_TRUE(drive([&] { return bool(from_a = trap.accept()); }, a));
    Stranger other(std::move(from_a));
    std::vector<std::byte> said;
    bool over = false;
    EXPECT_TRUE(drive([&] { return !(said = other.hear(over)).empty(); }, a));
    return said;
  };
  const std::vector<std::byte> first = greeting();
  EXPECT_EQ(first.size(), kHelloSize);
  EXPECT_NE(first, greeting());
}

TEST_F(TcpPair, SilentConnectionsGoAtTheDeadline) {
  Stranger silent(b.transport->rails()[0]);
  Stranger half(b.transport->rails()[0]);
  half.say(std::string("NZHI"));
  settle(b);
  EXPECT_EQ(b.transport->next_deadline(), clock.now() + TcpOptions{}.handshake_timeout);
  clock.advance(TcpOptions{}.handshake_timeout - 1);
  settle(b);
  EXPECT_FALSE(silent.closed());
  EXPECT_FALSE(half.closed());
  clock.advance(1);
  EXPECT_TRUE(drive([&] { return silent.closed() && half.closed(); }, b));
  EXPECT_EQ(b.transport->next_deadline(), 0);
}

TEST(TcpAcceptor, ManyWaitingConnectionsLoseTheOldestFirst) {
  HandClock clock;
  TcpOptions options;
  options.pending_per_rail = 3;
  Side b(22, clock, options);
  b.known = 11;
  Stranger greeted(b.transport->rails()[0]);
  greeted.say(write_hello(hello_of(11, 22)));
  settle(b);
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 4; ++i) {
    strangers.push_back(std::make_unique<Stranger>(b.transport->rails()[0]));
    settle(b);
  }
  bool over = false;
  EXPECT_EQ(greeted.hear(over).size(), kChallengeSize) << "who knows the names is not pushed out by the silent";
  EXPECT_FALSE(greeted.closed());
  EXPECT_TRUE(strangers[0]->closed());
  EXPECT_TRUE(strangers[1]->closed());
  EXPECT_FALSE(strangers[2]->closed());
  EXPECT_FALSE(strangers[3]->closed());
}

/// Open MPI ends the job when it can open none.
TEST(TcpAcceptor, ManySilentConnectionsLeaveDescriptorsToTheHost) {
  constexpr int kFree = 30;
  HandClock clock;
  Side b(22, clock);
  b.known = 11;
  Stranger greeted(b.transport->rails()[0]);
  greeted.say(write_hello(hello_of(11, 22)));
  settle(b);
  std::vector<std::unique_ptr<Stranger>> silent;
  for (std::size_t i = 0; i < 60; ++i) silent.push_back(std::make_unique<Stranger>(b.transport->rails()[i % 2]));
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{static_cast<rlim_t>(Fd(dup(greeted.fd())).get() + kFree), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  settle(b);
  std::vector<Fd> of_host;
  while (Fd fd{dup(greeted.fd())}) of_host.push_back(std::move(fd));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_GE(of_host.size(), std::size_t{kFree} * 3 / 4);
  EXPECT_TRUE(std::any_of(silent.begin(), silent.end(), [](const auto& each) { return !each->closed(); }));
  bool over = false;
  EXPECT_EQ(greeted.hear(over).size(), kChallengeSize) << "who knows the names is not pushed out";
  EXPECT_FALSE(greeted.closed());
}

/// Who connects and goes, without a word or with many, by a reset or not.
TEST_F(TcpPair, APortScanLeavesNothingBehind) {
  ASSERT_TRUE(join());
  settle(a, b);
  const std::ptrdiff_t before = open_descriptors();
  const std::size_t said = b.lines.size();
  for (std::size_t i = 0; i < 100; ++i) {
    Stranger stranger(b.transport->rails()[i % 2]);
    if (i % 3 == 0) stranger.say(std::string(50000, 'x'));
    const linger reset{i % 4 == 0, 0};
    setsockopt(stranger.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  settle(a, b);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(b.transport->next_deadline(), 0) << "somebody is still waited for";
  EXPECT_GT(b.lines.size(), said);
  EXPECT_LE(b.lines.size(), said + 7) << "of a hundred the 1st, 2nd, 4th ... 64th";
  EXPECT_EQ(a.lanes[0]->send({}, {}), Lane::Sent::whole);
  EXPECT_TRUE(drive([&] { return b.logs[0]->frames.size() == 1; }, a, b));
}

TEST(TcpAcceptor, AFloodLeavesTimeForLanes) {
  HandClock clock;
  TcpOptions options;
  options.accepts_at_once = 2;
  Side b(22, clock, options);
  std::vector<std::unique_ptr<Stranger>> flood;
  for (int i = 0; i < 40; ++i) flood.push_back(std::make_unique<Stranger>(b.transport->rails()[0]));
  const std::ptrdiff_t before = open_descriptors();
  std::ptrdiff_t most = 0, last = before;
  EXPECT_TRUE(drive(
      [&] {
        const std::ptrdiff_t now = open_descriptors();
        most = std::max(most, now - last);
        last = now;
        return now == before + 40;
      },
      b))
      << "all come in, in their turn";
  EXPECT_LE(most, 2) << "of them between two looks at the lanes";
}

TEST_F(TcpPair, ConnectFailsWithAText) {
  RailAddress nobody = b.transport->rails()[0];
  b.transport.reset();
  connect(0, nobody);
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }, a));
  EXPECT_NE(a.failures[0].find("127.0.0.1:" + std::to_string(port_of(nobody))), std::string::npos) << a.failures[0];
  EXPECT_NE(a.failures[0].find("Connection refused"), std::string::npos) << a.failures[0];
  EXPECT_EQ(a.transport->next_deadline(), 0);
}

TEST_F(TcpPair, ConnectIsGivenUpAtItsDeadline) {
  Trap trap;
  connect(0, trap.address);
  settle(a);
  EXPECT_EQ(a.transport->next_deadline(), clock.now() + kSecond);
  EXPECT_TRUE(a.failures.empty());
  clock.advance(kSecond);
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }, a));
  EXPECT_NE(a.failures[0].find("within the time"), std::string::npos) << a.failures[0];
}

TEST_F(TcpPair, WhoseKernelHasAnsweredIsGivenMoreTime) {
  Trap trap;
  a.transport->connect({b.self, 0, 0, true}, 0, trap.address, clock.now() + kMillisecond);
  settle(a);
  EXPECT_EQ(a.transport->next_deadline(), clock.now() + TcpOptions{}.admission_time);
  clock.advance(TcpOptions{}.admission_time - 1);
  settle(a);
  EXPECT_TRUE(a.failures.empty());
  clock.advance(1);
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }, a));
  EXPECT_NE(a.failures[0].find("no word about admission"), std::string::npos) << a.failures[0];
}

TEST_F(TcpPair, ConnectThatCannotBeginIsToldByProgress) {
  RailAddress other = b.transport->rails()[0];
  other.family = 6;
  connect(0, other);
  EXPECT_TRUE(a.failures.empty());
  EXPECT_NE(a.transport->next_deadline(), 0);
  EXPECT_TRUE(a.transport->progress(Watch::rare));
  EXPECT_EQ(a.failures.size(), 1U);
}

TEST_F(TcpPair, APlaceThatNoRailCanHaveIsRefused) {
  RailAddress other = b.transport->rails()[0];
  EXPECT_EQ(a.transport->where(other), "127.0.0.1");
  other.place.pop_back();
  EXPECT_EQ(a.transport->where(other), "?");
  connect(0, other);
  EXPECT_TRUE(a.transport->progress(Watch::rare));
  ASSERT_EQ(a.failures.size(), 1U);
  EXPECT_NE(a.failures[0].find("its address is not understood"), std::string::npos) << a.failures[0];
}

TEST(TcpAcceptor, AnExhaustedPortRangeIsSaid) {
  HandClock clock;
  Side first(1, clock);
  TcpOptions options;
  options.ports.low = options.ports.high = port_of(first.transport->rails()[0]);
  Side second(2, clock, options, 1);
  ASSERT_EQ(second.transport, nullptr);
  EXPECT_EQ(second.why.code(), Code::no_rail);
  const std::string port = std::to_string(options.ports.low);
  EXPECT_NE(second.why.text().find("all ports from " + port + " to " + port + " are taken on lo0 (127.0.0.1)"),
            std::string::npos)
      << second.why.text();
  EXPECT_TRUE(second.logged("rail tcp/lo0 is left out"));
}

TEST(TcpAcceptor, TakesAFreePortOfTheRange) {
  HandClock clock;
  TcpOptions options;
  options.ports = {28000, 28999};
  Side first(1, clock, options), second(1, clock, options);
  for (Side* side : {&first, &second}) {
    ASSERT_NE(side->transport, nullptr) << side->why.text();
    for (const RailAddress& rail : side->transport->rails()) {
      EXPECT_GE(port_of(rail), 28000);
      EXPECT_LE(port_of(rail), 28999);
    }
  }
  EXPECT_NE(port_of(first.transport->rails()[0]), port_of(second.transport->rails()[0]));
}

TEST(TcpAcceptor, SpeaksIpv6) {
  HandClock clock;
  const std::vector<Interface> six{{"lo6", "lo", 6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, 0}};
  Side a(1, clock, {}, six), b(2, clock, {}, six);
  if (a.transport == nullptr) GTEST_SKIP() << "no IPv6 here: " << a.why.text();
  a.known = 2, b.known = 1;
  a.transport->connect({2, 0, 0, true}, 0, b.transport->rails()[0], clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return a.lanes.size() == 1 && b.lanes.size() == 1; }, a, b)) << a.failures[0];
}

TEST(TcpAcceptor, KnowsItsPlaceInTheProcessesRails) {
  HandClock clock;
  TcpOptions options;
  options.first_rail = 3;
  Side a(1, clock), b(2, clock, options);
  a.known = 2, b.known = 1;
  a.transport->connect({2, 0, 4, true}, 0, b.transport->rails()[1], clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return b.lanes.size() == 1; }, a, b));
  EXPECT_EQ(b.lanes[0]->spec().local_rail, 4);
}

class TcpLoopback : public testing::Test {
 protected:
  TcpLoopback() : options_(with_loopback()), a(1, clock, options_), b(2, clock, options_) {
    a.known = 2, b.known = 1;
  }
  static TcpOptions with_loopback() {
    TcpOptions options;
    options.loopback = true;
    return options;
  }
  void connect() {
    a.transport->connect({2, kLoopbackRail, kLoopbackRail, true}, kLoopbackRail, b.transport->loopback().address, clock.now() + kSecond);
  }

  HandClock clock;
  const TcpOptions options_;
  Side a, b;
};

TEST_F(TcpLoopback, JoinsProcessesOfOneNamespaceAndIsNoRail) {
  EXPECT_NE(a.transport->loopback().network, 0u);
  EXPECT_EQ(a.transport->loopback().network, b.transport->loopback().network);
  EXPECT_EQ(a.transport->rails().size(), 2u);
  connect();
  ASSERT_TRUE(drive([&] { return a.lanes.size() == 1 && b.lanes.size() == 1; }, a, b));
  EXPECT_EQ(b.lanes[0]->spec().local_rail, kLoopbackRail);
  EXPECT_EQ(b.lanes[0]->spec().remote_rail, kLoopbackRail);
  EXPECT_EQ(a.lanes[0]->send({}, {}), Lane::Sent::whole);
  EXPECT_TRUE(drive([&] { return b.logs[0]->frames.size() == 1; }, a, b));
}

TEST_F(TcpLoopback, RefusesStrangers) {
  a.secret_bytes[0] ^= 1;
  connect();
  ASSERT_TRUE(drive([&] { return !a.failures.empty(); }, a, b));
  EXPECT_NE(a.failures[0].find("does not know the job's secret"), std::string::npos) << a.failures[0];
  Hello rail = hello_of(1, 2);  // which has a listener of its own
  Stranger stranger(b.transport->loopback().address);
  stranger.say(write_hello(rail));
  EXPECT_TRUE(drive([&] { return stranger.closed(); }, a, b));
  EXPECT_TRUE(b.logged("it wants another rail"));
  EXPECT_TRUE(a.lanes.empty() && b.lanes.empty());
}

TEST_F(TcpLoopback, IsNotThereUnlessAskedFor) {
  const Side without(3, clock);
  EXPECT_EQ(without.transport->loopback().network, 0u);
}

TEST(TcpAcceptor, OutlastsAShortageOfDescriptors) {
  HandClock clock;
  Side b(22, clock);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  Stranger stranger(b.transport->rails()[0]);
  stranger.say(std::string(kHelloSize, 'x'));
  const rlimit none{static_cast<rlim_t>(stranger.fd()), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  settle(b);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(b.logged("accepts no connections for a while"));
  settle(b);
  EXPECT_FALSE(stranger.closed()) << "not before its time";
  clock.advance(TcpOptions{}.accept_pause);
  EXPECT_TRUE(drive([&] { return stranger.closed(); }, b)) << "accepted, heard and refused";
}

}  // namespace
}  // namespace nezha::test
