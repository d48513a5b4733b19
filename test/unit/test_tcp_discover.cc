// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/discover.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nezha {
namespace {

using Names = std::vector<std::string>;

SystemAddress ipv4(std::uint8_t network, std::uint8_t host, bool usable = true) {
  return {4, {10, network, 0, host}, 24, usable};
}
SystemAddress ipv6(std::uint8_t network, bool usable = true) {
  return {6, {0xfd, network, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 64, usable};
}

SystemInterface interface(const std::string& name, std::vector<SystemAddress> addresses,
                          const std::string& kind = "") {
  SystemInterface made;
  made.name = name;
  made.kind = kind;
  made.up = made.carrier = true;
  made.addresses = std::move(addresses);
  return made;
}

/// What a node with containers, virtual machines and a bond may look like.
std::vector<SystemInterface> crowd() {
  std::vector<SystemInterface> all{
      interface("lo", {{4, {127, 0, 0, 1}, 8, true}}), interface("eth0", {ipv4(1, 1)}),
      interface("eth1", {ipv4(2, 1), ipv6(2)}),        interface("eth2", {}),
      interface("eth3", {ipv4(3, 1)}),                 interface("eth4", {ipv4(4, 1)}),
      interface("bond0", {ipv4(5, 1)}, "bond"),        interface("eth5", {ipv4(6, 1)}),
      interface("docker0", {ipv4(7, 1)}, "bridge"),    interface("tap0", {ipv4(8, 1)}, "tun"),
      interface("dummy0", {ipv4(9, 1)}, "dummy"),      interface("ifb0", {ipv4(10, 1)}, "ifb"),
      interface("veth0", {ipv4(11, 1)}, "veth"),       interface("veth1", {ipv4(12, 1)}, "veth"),
      interface("ib0", {ipv6(13)}, "ipoib"),           interface("eth6", {ipv4(14, 1, false)}),
  };
  const auto named = [&](const std::string& name) -> SystemInterface& {
    return *std::find_if(all.begin(), all.end(), [&](const SystemInterface& one) { return one.name == name; });
  };
  named("lo").loopback = true;
  named("eth3").up = false;
  named("eth4").carrier = false;
  named("eth5").master_kind = "bond";
  named("veth1").master_kind = "bridge";
  return all;
}

DiscoverOptions lists(const char* include, const char* exclude = "") {
  DiscoverOptions options;
  EXPECT_TRUE(parse(include, options.include).ok());
  EXPECT_TRUE(parse(exclude, options.exclude).ok());
  return options;
}

Names chosen(const DiscoverOptions& options) {
  Names names;
  for (const Interface& one : choose_interfaces(crowd(), options).chosen) names.push_back(one.name);
  return names;
}

TEST(Discover, WithoutListsTakesWhatCarriesSomething) {
  EXPECT_EQ(chosen({}), (Names{"eth0", "eth1", "bond0", "veth0", "ib0"}));
}

TEST(Discover, SaysWhatWasLeftOutAndWhy) {
  const Discovery result = choose_interfaces(crowd(), {});
  for (const char* line : {"lo: loopback", "docker0: a bridge", "tap0: a tun or tap device", "dummy0: a dummy",
                           "ifb0: an ifb", "veth1: a member of bridge", "eth5: a member of bond", "eth3: down",
                           "eth4: no carrier", "eth2: no address of the wanted kind",
                           "eth6: no address of the wanted kind"}) {
    EXPECT_EQ(std::count(result.left_out.begin(), result.left_out.end(), line), 1) << line;
  }
  EXPECT_EQ(result.available.size(), crowd().size());
  EXPECT_EQ(result.available[2], "eth1 (10.2.0.1/24, fd02::1/64)");
  EXPECT_EQ(result.available[3], "eth2");
}

TEST(Discover, TheIncludeListOrdersAndANameOverridesTheKind) {
  EXPECT_EQ(chosen(lists("eth1,eth0")), (Names{"eth1", "eth0"}));
  EXPECT_EQ(chosen(lists("docker0,eth0,veth1,lo")), (Names{"docker0", "eth0", "veth1", "lo"}));
  EXPECT_EQ(chosen(lists("eth3,eth0")), Names{"eth0"}) << "what is down stays out";
}

TEST(Discover, BlocksOfAddressesChooseButDoNotOverride) {
  EXPECT_EQ(chosen(lists("10.2.0.0/24,10.0.0.0/8")), (Names{"eth1", "eth0", "bond0", "veth0"}));
  EXPECT_EQ(chosen(lists("10.7.0.0/24")), Names{});
  const Discovery six = choose_interfaces(crowd(), lists("fd02::/64"));
  ASSERT_EQ(six.chosen.size(), 1U);
  EXPECT_EQ(six.chosen[0].family, 6) << "the address that the block means";
}

TEST(Discover, TheExcludeListTakesOut) {
  EXPECT_EQ(chosen(lists("", "eth0,10.5.0.0/16")), (Names{"eth1", "veth0", "ib0"}));
  EXPECT_EQ(chosen(lists("eth0,eth1", "eth0")), Names{"eth1"});
}

TEST(Discover, ReportsWordsThatNothingAnswersTo) {
  const Discovery result = choose_interfaces(crowd(), lists("eth0,eth99,192.168.0.0/16,eth3"));
  EXPECT_EQ(result.unknown, (Names{"eth99", "192.168.0.0/16"}));
  EXPECT_EQ(result.chosen.size(), 1U);
}

TEST(Discover, IpVersions) {
  DiscoverOptions options = lists("eth1,ib0,eth0");
  const auto families = [&] {
    std::vector<int> found;
    for (const Interface& one : choose_interfaces(crowd(), options).chosen) found.push_back(one.family);
    return found;
  };
  EXPECT_EQ(families(), (std::vector<int>{4, 6, 4}));
  options.ip_version = IpVersion::v4;
  EXPECT_EQ(families(), (std::vector<int>{4, 4}));
  options.ip_version = IpVersion::v6;
  EXPECT_EQ(families(), (std::vector<int>{6, 6}));
}

TEST(Discover, SingleNodeHasLoopbackRailsOnly) {
  DiscoverOptions options;
  options.single_node = 3;
  const Discovery result = choose_interfaces(crowd(), options);
  ASSERT_EQ(result.chosen.size(), 3U);
  EXPECT_EQ(result.chosen[2].name, "lo2");
  EXPECT_EQ(result.chosen[2].device, "lo");
  EXPECT_EQ(address_text(4, result.chosen[2].address), "127.0.0.3");
}

TEST(Discover, TheKernelTellsOfLo) {
  LinkTable table;
  const Status status = read_link_table(table);
  ASSERT_TRUE(status.ok()) << status.text();
  const std::vector<SystemInterface> present = table.list();
  const auto lo = std::find_if(present.begin(), present.end(), [](const auto& one) { return one.name == "lo"; });
  ASSERT_NE(lo, present.end());
  EXPECT_TRUE(lo->loopback);
  ASSERT_FALSE(lo->addresses.empty());
  EXPECT_EQ(lo->addresses[0].prefix, 8);
  Discovery result;
  EXPECT_TRUE(discover(lists("lo"), result).ok());
  ASSERT_EQ(result.chosen.size(), 1U);
  EXPECT_EQ(address_text(result.chosen[0].family, result.chosen[0].address), "127.0.0.1");
}

}  // namespace
}  // namespace nezha
