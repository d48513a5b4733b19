// SPDX-License-Identifier: BSD-3-Clause
#include "rail/pairing.h"

#include "rail/tcp/tcp_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace nezha {
namespace {

using Rails = std::vector<RailAddress>;
using Pairs = std::vector<RailPair>;

RailAddress rail4(std::uint8_t network, std::uint8_t host, std::uint8_t prefix = 24) {
  return tcp_address({"eth" + std::to_string(network), "", 4, {10, network, 0, host}, prefix, 0}, 1);
}
RailAddress rail6(std::uint8_t network, std::uint8_t host) {
  return tcp_address({"six", "", 6, {0xfd, network, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host}, 64, 0}, 1);
}
RailAddress loopback(std::uint8_t n) { return tcp_address({"lo", "", 4, {127, 0, 0, n}, 32, 0}, 1); }

/// A rail of that kind on that NIC.
RailAddress on_device(const std::string& transport, const std::string& device, std::uint8_t precedence) {
  RailAddress rail;
  rail.transport = transport;
  rail.name = rail.device = device;
  rail.precedence = precedence;
  return rail;
}

TEST(Pairing, NetworksMeetWhateverTheOrder) {
  const Rails one{rail4(1, 1), rail4(2, 1), rail6(3, 1)}, other{rail6(3, 2), rail4(2, 2), rail4(1, 2)};
  EXPECT_EQ(pair_rails(one, other), (Pairs{{0, 2}, {1, 1}, {2, 0}}));
}

TEST(Pairing, SeveralNicsOfOneSubnetGoInOrderAndRepeat) {
  const Rails three{rail4(1, 1), rail4(1, 2), rail4(1, 3)}, two{rail4(1, 11), rail4(1, 12)};
  EXPECT_EQ(pair_rails(three, two), (Pairs{{0, 0}, {1, 1}, {2, 0}}));
  EXPECT_EQ(pair_rails(two, three), (Pairs{{0, 0}, {0, 2}, {1, 1}}));
  EXPECT_EQ(pair_rails(two, two), (Pairs{{0, 0}, {1, 1}}));
}

TEST(Pairing, RoutedRailsPairAmongTheLeftOver) {
  const Rails one{rail4(1, 1), rail4(5, 1), rail4(6, 1)}, other{rail4(7, 2), rail4(1, 2), rail4(8, 2)};
  EXPECT_EQ(pair_rails(one, other), (Pairs{{0, 1}, {1, 0}, {2, 2}}));
}

TEST(Pairing, OneSideWithoutTheNetworkLeavesItOut) {
  const Rails one{rail4(1, 1), rail4(2, 1)}, other{rail4(1, 2)};
  EXPECT_EQ(pair_rails(one, other), (Pairs{{0, 0}}));
}

TEST(Pairing, FamiliesTransportsAndPrefixesDoNotMix) {
  Rails one{rail4(1, 1)}, other{rail6(1, 2)};
  EXPECT_TRUE(pair_rails(one, other).empty());
  other = {rail4(1, 2)};
  other[0].transport = "verbs";
  EXPECT_TRUE(pair_rails(one, other).empty());
  one = {rail4(1, 1, 24), rail4(1, 2, 16)};
  other = {rail4(1, 3, 16), rail4(1, 4, 24)};
  EXPECT_EQ(pair_rails(one, other), (Pairs{{0, 1}, {1, 0}}));
}

TEST(Pairing, OneNodeHasALaneOverItsLoopback) {
  const Loopback here{7, loopback(1)}, also_here{7, loopback(1)}, in_a_container{8, loopback(1)}, none{};
  EXPECT_TRUE(share_loopback(here, also_here));
  EXPECT_FALSE(live_apart(here, also_here));
  EXPECT_FALSE(share_loopback(here, in_a_container));
  EXPECT_TRUE(live_apart(here, in_a_container));
  for (const Loopback& other : {here, none}) {
    EXPECT_FALSE(share_loopback(other, none));
    EXPECT_FALSE(share_loopback(none, other));
    EXPECT_FALSE(live_apart(other, none)) << "nothing is known of where that one lives";
    EXPECT_FALSE(live_apart(none, other));
  }
  Loopback of_another_kind = here;
  of_another_kind.address.transport = "verbs";
  EXPECT_FALSE(share_loopback(here, of_another_kind));
  EXPECT_FALSE(share_loopback(here, {7, rail6(1, 1)}));
}

TEST(Pairing, LoopbackRailsImitateNetworks) {
  const Rails rails{loopback(1), loopback(2), loopback(3)};
  EXPECT_EQ(pair_rails(rails, rails), (Pairs{{0, 0}, {1, 1}, {2, 2}}));
}

TEST(Pairing, ANicThatServesTwoKindsCountsOnce) {
  const Rails both{on_device("tcp", "eth0", 0), on_device("tcp", "eth1", 0), on_device("verbs", "eth1", 2)};
  const Rails turned{on_device("verbs", "eth1", 2), on_device("tcp", "eth0", 0), on_device("tcp", "eth1", 0)};
  EXPECT_EQ(pair_rails(both, both), (Pairs{{0, 0}, {2, 2}}));
  EXPECT_EQ(pair_rails(both, turned), (Pairs{{0, 1}, {2, 0}})) << "whatever the order";
}

TEST(Pairing, WhoLacksTheFasterKindIsReachedByTheOther) {
  const Rails both{on_device("tcp", "eth0", 0), on_device("verbs", "eth0", 2)}, one{on_device("tcp", "eth0", 0)};
  EXPECT_EQ(pair_rails(both, one), (Pairs{{0, 0}}));
  EXPECT_EQ(pair_rails(one, both), (Pairs{{0, 0}}));
}

TEST(Pairing, WhatTheUserNamedByItsKindStays) {
  const Rails named{on_device("tcp", "", 0), on_device("verbs", "eth0", 2)}, both{on_device("tcp", "eth0", 0), on_device("verbs", "eth0", 2)};
  EXPECT_EQ(pair_rails(named, named), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(pair_rails(named, both), (Pairs{{0, 0}, {1, 1}}));
}

TEST(Pairing, AnotherDeviceOnOneSideIsAnotherWay) {
  const Rails here{on_device("tcp", "eth0", 0), on_device("verbs", "eth0", 2)}, there{on_device("tcp", "eth0", 0), on_device("verbs", "eth1", 2)};
  EXPECT_EQ(pair_rails(here, there), (Pairs{{0, 0}, {1, 1}}));
}

TEST(Pairing, StrangeInputIsBounded) {
  Rails many(200, rail4(1, 1, 255));
  const Pairs pairs = pair_rails(many, many);
  EXPECT_EQ(pairs.size(), kMaxRails);
  EXPECT_TRUE(pair_rails({}, many).empty());
  RailAddress odd;
  EXPECT_EQ(pair_rails({&odd, 1}, {&odd, 1}).size(), 1U);
}

Rails random_rails(std::mt19937& random) {
  Rails rails(random() % 7);
  for (RailAddress& rail : rails) {
    const auto network = static_cast<std::uint8_t>(random() % 4), host = static_cast<std::uint8_t>(random() % 250);
    rail = random() % 3 == 0 ? rail6(network, host) : rail4(network, host, random() % 5 == 0 ? 16 : 24);
    if (random() % 6 == 0) rail.transport = "verbs";
    if (random() % 2 == 0) rail.device = random() % 2 == 0 ? "eth0" : "eth1";
    rail.precedence = static_cast<std::uint8_t>(random() % 3);
  }
  return rails;
}

TEST(Pairing, BothSidesComputeTheSameLanes) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    const Rails one = random_rails(random), other = random_rails(random);
    const Pairs here = pair_rails(one, other);
    Pairs there = pair_rails(other, one);
    for (RailPair& pair : there) std::swap(pair.local, pair.remote);
    std::sort(there.begin(), there.end());
    ASSERT_EQ(here, there);
    EXPECT_EQ(std::set<RailPair>(here.begin(), here.end()).size(), here.size());
    for (const RailPair& pair : here) {
      EXPECT_EQ(one[pair.local].family, other[pair.remote].family);
      EXPECT_EQ(one[pair.local].transport, other[pair.remote].transport);
    }
    EXPECT_LE(here.size(), kMaxRails);
  }
}

}  // namespace
}  // namespace nezha
