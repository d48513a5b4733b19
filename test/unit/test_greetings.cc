// SPDX-License-Identifier: BSD-3-Clause
/// Who connects to an aggregator's port without being a rank or an aggregator.
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstring>

#include "loopback.h"
#include "raw_client.h"

namespace nezha::test {
namespace {

constexpr const char* kTwoAddresses = "two-addresses.test";

class Greetings : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(aggregation_.listen("127.0.0.1", 0).ok()); }

  Fd connect_to_it() { return connect_to(aggregation_.port()); }
  std::size_t waits_on() const {
    std::size_t count = 0;
    aggregation_.each_fd([&](int, bool) { ++count; });
    return count;
  }
  static bool open(const Fd& fd) {
    char byte = 0;
    return recv(fd.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  static void write_line(void* ctx, int, const char* line) {
    static_cast<std::vector<std::string>*>(ctx)->emplace_back(line);
  }

  std::vector<std::string> lines_;
  SimNetwork network_{{.segment = 4096}, 1};
  SimPort port_{network_, {}};
  RawProcess service_{network_, port_, kNoRank, 1000, Log(write_line, &lines_, 2)};
  Aggregation aggregation_{service_.core(), Secret{}, Aggregation::Limits{}};
};

/// Names lead to addresses of either family.
TEST_F(Greetings, ComeByIPv6AndByIPv4) {
  ASSERT_TRUE(aggregation_.listen("", 0).ok());
  sockaddr_in to4{};
  to4.sin_family = AF_INET;
  to4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 to6{};
  to6.sin6_family = AF_INET6;
  to6.sin6_addr = in6addr_loopback;
  to4.sin_port = to6.sin6_port = htons(aggregation_.port());
  const Fd by4(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), by6(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(by4.get(), reinterpret_cast<const sockaddr*>(&to4), sizeof to4), 0);
  const int error = connect(by6.get(), reinterpret_cast<const sockaddr*>(&to6), sizeof to6) == 0 ? 0 : errno;
  if (!by6 || error == EADDRNOTAVAIL) GTEST_SKIP() << "no IPv6 here";
  EXPECT_EQ(error, 0);
}

/// Another program has the port for IPv6, so ranks that come by IPv6 would find that.
TEST_F(Greetings, APortThatIsTakenForIPv6IsTaken) {
  const Fd other(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  socklen_t size = sizeof at;
  if (!other || setsockopt(other.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0 ||
      bind(other.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0)
    GTEST_SKIP() << "no IPv6 here";
  ASSERT_EQ(listen(other.get(), 1), 0);
  getsockname(other.get(), reinterpret_cast<sockaddr*>(&at), &size);
  const Status status = aggregation_.listen("", ntohs(at.sin6_port));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.text().find("in use"), std::string::npos) << status.text();
}

/// The first address of its name is not this machine's.
TEST_F(Greetings, ComeByAnyAddressOfAName) {
  const Status status = aggregation_.listen(kTwoAddresses, 0);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_TRUE(open(connect_to_it()));
}

TEST_F(Greetings, AFloodFillsNoLog) {
  for (int i = 0; i < 100; ++i) {
    connect_to_it();
    aggregation_.progress(network_.now());
  }
  while (waits_on() > 1) aggregation_.progress(network_.now());
  EXPECT_EQ(aggregation_.counts().refused, 100U);
  EXPECT_EQ(lines_.size(), 7U) << "1, 2, 4 ... 64";
}

TEST_F(Greetings, WhoSaysNothingGoesFirst) {
  const Fd one = connect_to_it();
  ASSERT_EQ(send(one.get(), "NEZAAGG1", 8, 0), 8);
  std::vector<Fd> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(connect_to_it());
    aggregation_.progress(network_.now());
  }
  EXPECT_TRUE(open(one));
  EXPECT_FALSE(open(silent.front()));
  EXPECT_TRUE(open(silent.back()));
}

/// Operations of those who are here wait meanwhile.
TEST_F(Greetings, AFloodComesInParts) {
  std::vector<Fd> all;
  for (int i = 0; i < 50; ++i) all.push_back(connect_to_it());
  aggregation_.progress(network_.now());
  const std::size_t taken = waits_on() - 1;
  EXPECT_GT(taken, 0U);
  EXPECT_LE(taken, 16U);
  for (int i = 0; i < 10; ++i) aggregation_.progress(network_.now());
  EXPECT_EQ(waits_on(), 51U) << "the listener, and all of them";
}

TEST_F(Greetings, WhoHasGoneMakesRoom) {
  std::vector<Fd> all;
  for (int i = 0; i < 256; ++i) {
    all.push_back(connect_to_it());
    ASSERT_EQ(send(all.back().get(), "NEZAAGG1", 8, 0), 8);
    aggregation_.progress(network_.now());
  }
  all[100] = Fd();
  const Fd next = connect_to_it();
  aggregation_.progress(network_.now());
  EXPECT_TRUE(open(all.front()));
  EXPECT_TRUE(open(next));
}

TEST_F(Greetings, WithoutDescriptorsItIsNotKeptAwake) {
  const Fd one = connect_to_it();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  for (int i = 0; i < 3; ++i) aggregation_.progress(network_.now());
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(waits_on(), 0U);
  EXPECT_EQ(lines_.size(), 1U);
  aggregation_.progress(network_.now() + kSecond);
  EXPECT_EQ(waits_on(), 2U) << "the listener, and who had come";
}

}  // namespace
}  // namespace nezha::test

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr || std::strcmp(node, nezha::test::kTwoAddresses) != 0) return system(node, service, hints, found);
  const int error = system("203.0.113.1", service, hints, found);
  return error != 0 ? error : system("127.0.0.1", service, hints, &(*found)->ai_next);
}
