// SPDX-License-Identifier: BSD-3-Clause
/// Whom a rail that is back asks for, so that its neighbours hear of it. That it asks: test/mpi/test_moving_rails.py.
#include "rail/tcp/announcement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "rail/tcp/tcp_place.h"
#include "tcp_pair.h"

namespace nezha {
namespace {

using Texts = std::vector<std::string>;

Interface at(std::array<std::uint8_t, 4> address, std::uint8_t prefix) {
  Interface interface{"eth0", "eth0", 4, {}, prefix, 0};
  std::copy(address.begin(), address.end(), interface.address.begin());
  return interface;
}

std::vector<RailAddress> taken(const std::vector<std::array<std::uint8_t, 4>>& addresses) {
  std::vector<RailAddress> rails;
  for (const auto& address : addresses) {
    rails.push_back(tcp_address(at(address, 24), 1));
  }
  return rails;
}

std::vector<std::uint32_t> numbers(const Interface& interface, const std::vector<RailAddress>& rails) {
  std::vector<const RailAddress*> each;
  for (const RailAddress& rail : rails) each.push_back(&rail);
  return taken_addresses(interface, each);
}

Texts texts(const Interface& interface, const std::vector<RailAddress>& rails, std::size_t most = 4) {
  Texts found;
  for (const auto& address : unused_addresses(interface, numbers(interface, rails), most))
    found.push_back(address_text(4, address));
  return found;
}

TEST(Announcement, AsksForAddressesOfItsOwnNetworkFarFromItsOwn) {
  EXPECT_EQ(texts(at({10, 11, 0, 1}, 24), {}), (Texts{"10.11.0.129", "10.11.0.130", "10.11.0.131", "10.11.0.132"}));
  EXPECT_EQ(texts(at({10, 11, 200, 7}, 16), {}, 1), (Texts{"10.11.72.7"}));
  EXPECT_EQ(texts(at({10, 11, 0, 1}, 8), {}, 2), (Texts{"10.139.0.1", "10.139.0.2"}));
}

TEST(Announcement, LeavesPeersAlone) {
  EXPECT_EQ(texts(at({10, 11, 0, 1}, 24), taken({{10, 11, 0, 129}, {10, 11, 0, 131}, {10, 12, 0, 130}}), 2),
            (Texts{"10.11.0.130", "10.11.0.132"}));
}

/// Only what may be asked for is looked through for each address: not each rail of each rank.
TEST(Announcement, KnowsAddressesOfItsNetworkOnceInOrder) {
  const Interface interface = at({10, 11, 0, 1}, 22);
  std::vector<RailAddress> rails =
      taken({{10, 11, 3, 7}, {10, 11, 0, 9}, {10, 11, 3, 7}, {10, 11, 4, 1}, {10, 10, 3, 9}});
  EXPECT_EQ(numbers(interface, rails), (std::vector<std::uint32_t>{0x0a0b0009, 0x0a0b0307}));
  rails[1].transport = "verbs";
  rails[0].family = 6;
  rails[2].place.pop_back();
  EXPECT_EQ(numbers(interface, rails), std::vector<std::uint32_t>{});
}

TEST(Announcement, FindsTheLastOnesOfAFullNetwork) {
  const Interface interface = at({10, 11, 0, 1}, 22);
  std::vector<std::uint32_t> full;
  for (std::uint32_t host = 2; host < 1022; ++host)
    if (host != 300) full.push_back(0x0a0b0000 + host);
  Texts found;
  for (const auto& address : unused_addresses(interface, full, 4)) found.push_back(address_text(4, address));
  EXPECT_EQ(found, (Texts{"10.11.3.254", "10.11.1.44"}));
}

TEST(Announcement, OfARailComesNoSoonerThanAfterAPause) {
  test::HandClock clock;
  const test::Side side(11, clock);
  ASSERT_NE(side.transport, nullptr) << side.why.text();
  EXPECT_TRUE(side.transport->may_announce(0));
  side.transport->announce(0, {});
  EXPECT_FALSE(side.transport->may_announce(0));
  EXPECT_TRUE(side.transport->may_announce(1));
  clock.advance(TcpOptions{}.announcement_pause - 1);
  EXPECT_FALSE(side.transport->may_announce(0));
  clock.advance(1);
  EXPECT_TRUE(side.transport->may_announce(0));
}

TEST(Announcement, AsksForOthersInTurn) {
  const auto first = [](std::uint8_t prefix, std::size_t passed) {
    return address_text(4, unused_addresses(at({10, 0, 0, 6}, prefix), {}, 2, passed).at(0));
  };
  EXPECT_EQ(first(24, 0), "10.0.0.134");
  EXPECT_EQ(first(24, 8), "10.0.0.142");
  EXPECT_EQ(first(29, 2), "10.0.0.4");
  EXPECT_EQ(first(29, 8), "10.0.0.5") << "it has only five";
}

TEST(Announcement, NeverAsksForTheNetworkItsBroadcastsOrItself) {
  EXPECT_EQ(texts(at({10, 0, 0, 6}, 29), {}, 8), (Texts{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.1"}));
  EXPECT_EQ(texts(at({10, 0, 0, 1}, 30), {}), (Texts{"10.0.0.2"}));
}

TEST(Announcement, AsksNobodyWhereNobodyIsLeft) {
  EXPECT_EQ(texts(at({10, 0, 0, 1}, 30), taken({{10, 0, 0, 2}})), Texts{});
  for (const std::uint8_t prefix : {0, 31, 32}) EXPECT_EQ(texts(at({10, 0, 0, 1}, prefix), {}), Texts{}) << +prefix;
  Interface ipv6 = at({0xfd, 0, 0, 1}, 24);
  ipv6.family = 6;
  EXPECT_EQ(texts(ipv6, {}), Texts{});
}

TEST(Announcement, AsksSeveralTimesInTheFirstMoments) {
  Interface nowhere = at({10, 11, 0, 1}, 24);
  nowhere.device = "no-such-device";
  Announcement announcement(nowhere, {}, 3, kSecond);
  std::vector<Nanoseconds> when;
  while (announcement.due() != 0) {
    when.push_back(announcement.due());
    announcement.step(when.back() - 1);
    EXPECT_EQ(announcement.due(), when.back()) << "too early";
    announcement.step(when.back());
    ASSERT_LE(when.size(), 4u);
  }
  EXPECT_EQ(when.front(), kSecond);
  EXPECT_EQ(when.size(), 4u);
  EXPECT_LT(when.back(), kSecond + 200 * kMillisecond);
  EXPECT_EQ(Announcement(at({10, 0, 0, 1}, 32), {}, 0, kSecond).due(), 0) << "nobody to ask for";
}

}  // namespace
}  // namespace nezha
