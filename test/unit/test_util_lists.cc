// SPDX-License-Identifier: BSD-3-Clause
/// The parsers of parameters' text, with nasty input.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>

#include "util/core_list.h"
#include "util/interface_list.h"
#include "util/port_range.h"
#include "util/share_list.h"
#include "util/text.h"

namespace nezha {
namespace {

using Address = std::array<std::uint8_t, 16>;

Address address(const char* text) {
  Address result{};
  EXPECT_EQ(inet_pton(std::string_view(text).find(':') == std::string_view::npos ? AF_INET : AF_INET6, text,
                      result.data()), 1) << text;
  return result;
}

template <typename T>
T parsed(std::string_view text) {
  T result;
  const Status status = parse(text, result);
  EXPECT_TRUE(status.ok()) << status.text();
  return result;
}

/// The text of the refusal; `before` must survive it.
template <typename T>
std::string refusal(std::string_view text, const T& before) {
  T value = before;
  const Status status = parse(text, value);
  EXPECT_EQ(status.code(), Code::bad_parameter) << in_quotes(text);
  EXPECT_EQ(value, before);
  return status.text();
}

TEST(Text, WordsAreTrimmedAndEmptyOnesLeftOut) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(words_of("a,b"), (Words{"a", "b"}));
  EXPECT_EQ(words_of(" ,a b ,,\tc\n,"), (Words{"a b", "c"}));
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_EQ(words_of(" , ,"), Words{});
}

TEST(Text, QuotesAreFitForALine) {
  EXPECT_EQ(in_quotes("eth0"), "\"eth0\"");
  EXPECT_EQ(in_quotes(std::string_view("a\0\n\x1b\xff", 5)), "\"a????\"");
  EXPECT_EQ(in_quotes(std::string(1000, 'x')), "\"" + std::string(60, 'x') + "...\"");
}

TEST(Text, Sizes) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("64k"), 65536);
  EXPECT_EQ(parse_size("3M"), 3 << 20);
  EXPECT_EQ(parse_size("8589934591g"), 8589934591LL << 30);
  for (const char* bad : {"", "k", "-1", "-1k", "+1", "1.5k", "1kk", "1 k", "0x10", "8589934592g", "9223372036854775808"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  }
  for (const long long bytes : {0LL, 1LL, 1000LL, 1024LL, 65536LL, 65537LL, 1LL << 30, 1LL << 40}) {
    EXPECT_EQ(parse_size(size_text(bytes)), bytes);
  }
  EXPECT_EQ(size_text(65536), "64k");
  EXPECT_EQ(size_text(1LL << 40), "1024g");
}

TEST(InterfaceList, NamesBlocksAndAddresses) {
  const auto list = parsed<InterfaceList>("eth0, 10.1.0.0/16 ,fd00::/64,192.168.1.7");
  ASSERT_EQ(list.patterns().size(), 4u);
  EXPECT_EQ(list.patterns()[1].text, "10.1.0.0/16");
  EXPECT_EQ(list.match("eth0", 4, address("172.16.0.1")), 0u);
  EXPECT_EQ(list.match("eth0", 0, {}), 0u);
  EXPECT_EQ(list.match("eth1", 4, address("10.1.255.255")), 1u);
  EXPECT_EQ(list.match("eth1", 4, address("10.2.0.0")), std::nullopt);
  EXPECT_EQ(list.match("eth1", 6, address("fd00::1:2")), 2u);
  EXPECT_EQ(list.match("eth1", 6, address("fd00:0:0:1::1")), std::nullopt);
  EXPECT_EQ(list.match("eth1", 4, address("192.168.1.7")), 3u);
  EXPECT_EQ(list.match("eth1", 4, address("192.168.1.8")), std::nullopt);
  EXPECT_EQ(list.match("eth", 0, {}), std::nullopt);
  EXPECT_EQ(list.match("eth00", 0, {}), std::nullopt);
}

TEST(InterfaceList, TheFirstPatternThatMatchesCounts) {
  const auto list = parsed<InterfaceList>("10.0.0.0/8,eth0,10.1.0.0/16,eth0");
  EXPECT_EQ(list.patterns().size(), 3u);
  EXPECT_EQ(list.match("eth0", 4, address("10.1.0.1")), 0u);
  EXPECT_EQ(list.match("eth0", 4, address("11.0.0.1")), 1u);
}

TEST(InterfaceList, PrefixesOfAnyLength) {
  EXPECT_EQ(parsed<InterfaceList>("0.0.0.0/0").match("x", 4, address("255.1.2.3")), 0u);
  EXPECT_EQ(parsed<InterfaceList>("0.0.0.0/0").match("x", 6, address("::1")), std::nullopt);
  EXPECT_EQ(parsed<InterfaceList>("::/0").match("x", 6, address("ff02::1")), 0u);
  EXPECT_EQ(parsed<InterfaceList>("127.0.0.1/8").match("x", 4, address("127.9.9.9")), 0u);
  const auto block = parsed<InterfaceList>("10.0.0.96/27");
  EXPECT_EQ(block.match("x", 4, address("10.0.0.127")), 0u);
  EXPECT_EQ(block.match("x", 4, address("10.0.0.128")), std::nullopt);
  EXPECT_EQ(block.match("x", 4, address("10.0.0.95")), std::nullopt);
  const auto single = parsed<InterfaceList>("fe80::1/128");
  EXPECT_EQ(single.match("x", 6, address("fe80::1")), 0u);
  EXPECT_EQ(single.match("x", 6, address("fe80::2")), std::nullopt);
}

TEST(InterfaceList, WordsForOneKindOfRails) {
  const auto list = parsed<InterfaceList>("tcp/eth0,verbs/mlx5_0:1,eth1,tcp/10.1.0.0/16,verbs/eth0,tcp/eth0");
  ASSERT_EQ(list.patterns().size(), 5u);
  EXPECT_EQ(list.patterns()[1].written(), "verbs/mlx5_0:1");
  EXPECT_EQ(list.patterns()[2].kind, "");
  const InterfaceList tcp = list.of_kind("tcp");
  ASSERT_EQ(tcp.patterns().size(), 3u);
  EXPECT_EQ(tcp.match("eth0", 0, {}), 0u);
  EXPECT_EQ(tcp.match("eth1", 0, {}), 1u);
  EXPECT_EQ(tcp.match("eth2", 4, address("10.1.2.3")), 2u);
  EXPECT_EQ(list.of_kind("ofi"), parsed<InterfaceList>("eth1"));
  EXPECT_TRUE(list.names_kind("verbs"));
  EXPECT_FALSE(list.names_kind("ofi"));
  EXPECT_FALSE(parsed<InterfaceList>("eth0,10.0.0.0/8").names_kind("tcp"));
}

TEST(InterfaceList, BadWordsAreNamed) {
  const auto before = parsed<InterfaceList>("eth0");
  for (const char* word : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0.0/8x", "10.0.0/8",
                           "fd00::/129", "fd00:::/64", "/24", "eth0/24", "/", "a b", "tcp/", "tcp/a/b", "tcp//", "TCP/eth0", "tcp/10.0.0.0/33", "^eth0/1", "10.0.0.0/99999999999999999999"}) {
    const std::string text = refusal<InterfaceList>(std::string("eth1,") + word, before);
    EXPECT_NE(text.find(in_quotes(word)), std::string::npos) << text;
    EXPECT_NE(text.find("allowed are"), std::string::npos) << text;
  }
  refusal<InterfaceList>("eth\xc3\xa4", before);
  refusal<InterfaceList>(std::string_view("eth\0000", 5), before);
  refusal<InterfaceList>(std::string_view("10.0.0.1\0/8", 11), before);
  EXPECT_TRUE(parsed<InterfaceList>(" ,, ").empty());
}

TEST(ShareList, WeightsByRail) {
  const auto list = parsed<ShareList>("eth0:2, eth1 : 1.5 ,mlx5_0:1:0.25,");
  ASSERT_EQ(list.entries.size(), 3u);
  EXPECT_EQ(list.weight("eth0"), 2);
  EXPECT_EQ(list.weight("eth1"), 1.5);
  EXPECT_EQ(list.weight("mlx5_0:1"), 0.25);
  EXPECT_EQ(list.weight("mlx5_0"), 0);
  EXPECT_TRUE(parsed<ShareList>("").empty());
}

TEST(ShareList, BadWordsAreNamed) {
  const auto before = parsed<ShareList>("eth0:2");
  for (const char* word : {"eth1", "eth1:", ":1", "eth1:0", "eth1:-1", "eth1:+1", "eth1:1e3", "eth1:inf", "eth1:nan",
                           "eth1:0x1", "eth1:1..2", "eth1:.", "eth1:1 2", "eth1:0.0001", "eth1:1000001", "e th:1",
                           "eth9:7", "\x01:1"}) {
    const std::string text = refusal<ShareList>(std::string("eth9:1,") + word, before);
    EXPECT_NE(text.find(in_quotes(word)), std::string::npos) << text;
    EXPECT_NE(text.find("allowed are"), std::string::npos) << text;
  }
}

TEST(CoreList, CoresByRail) {
  const auto list = parsed<CoreList>("eth0=2-3; eth1 = 4, 6 ,4-5;mlx5_0:1=0;");
  ASSERT_EQ(list.entries.size(), 3u);
  EXPECT_EQ(*list.of("eth0"), (Cores{2, 3}));
  EXPECT_EQ(*list.of("eth1"), (Cores{4, 5, 6}));
  EXPECT_EQ(*list.of("mlx5_0:1"), Cores{0});
  EXPECT_EQ(list.of("eth2"), nullptr);
  EXPECT_EQ(*parsed<CoreList>("a=0-8191").of("a")->rbegin(), CoreList::kHighest);
  EXPECT_EQ(parsed<CoreList>(" ; "), CoreList());
}

TEST(CoreList, WrittenAsRanges) {
  EXPECT_EQ(cores_text({}), "");
  EXPECT_EQ(cores_text({7}), "7");
  EXPECT_EQ(cores_text({0, 1, 3, 5, 6, 7}), "0-1,3,5-7");
}

TEST(CoreList, BadWordsAreNamed) {
  const auto before = parsed<CoreList>("eth0=2");
  for (const char* word : {"eth1", "eth1:2", "=1", "eth1=", "eth1= , ", "e th=1", "\x01=1", "eth9=7"}) {
    const std::string text = refusal<CoreList>(std::string("eth9=1;") + word, before);
    EXPECT_NE(text.find(in_quotes(trim(word))), std::string::npos) << text;
    EXPECT_NE(text.find("allowed are"), std::string::npos) << text;
  }
  for (const char* part : {"x", "-1", "+1", "3-2", "1-2-3", "1--2", "-", "8192", "1 2", "0x1", "1.5", "5-99999999999999999999"}) {
    const std::string text = refusal<CoreList>(std::string("eth1=1,") + part, before);
    EXPECT_NE(text.find(in_quotes(part)), std::string::npos) << text;
  }
}

TEST(PortRange, AnyOrBothEnds) {
  EXPECT_TRUE(parsed<PortRange>("0").any());
  EXPECT_EQ(parsed<PortRange>(" 46000 - 46999 "), (PortRange{46000, 46999}));
  EXPECT_EQ(parsed<PortRange>("1-65535"), (PortRange{1, 65535}));
  EXPECT_EQ(parsed<PortRange>("7-7"), (PortRange{7, 7}));
  EXPECT_FALSE(parsed<PortRange>("7-7").any());
}

TEST(PortRange, BadRangesAreNamed) {
  const PortRange before{5, 6};
  for (const char* word : {"", "7", "-", "7-", "-7", "0-7", "8-7", "1-65536", "1-2-3", "1--2", "a-b", "1:2", "0-0"}) {
    EXPECT_NE(refusal<PortRange>(word, before).find(in_quotes(word)), std::string::npos);
  }
}

}  // namespace
}  // namespace nezha
