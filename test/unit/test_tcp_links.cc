// SPDX-License-Identifier: BSD-3-Clause
/// A rail over a link that comes and goes, in a network namespace of the test's own.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "tcp_pair.h"

namespace nezha::test {
namespace {

/// This process has nothing but these two links, joined. False: it may not have them.
bool move_to_links() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  return std::system(
             "{ ip link set lo up && ip link add nz0 type veth peer name nz1 &&"
             " ip link set nz0 up addrgenmode none && ip link set nz1 up addrgenmode none; } 2>/dev/null") == 0;
}

class TcpLinks : public testing::Test {
 protected:
  void SetUp() override {
    static const bool moved = move_to_links();
    if (!moved) GTEST_SKIP() << "needs links of its own: root or user namespaces, veth, and the command ip";
    any = Fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_TRUE(set_address(1));
    a = std::make_unique<Side>(11, clock, TcpOptions{}, std::vector<Interface>{{"nz0", "nz0", 4, {10, 77, 0, 1}, 8, 0}});
    ASSERT_NE(a->transport, nullptr) << a->why.text();
  }
  /// Of nz0, to 10.77.0.`last`.
  bool set_address(std::uint8_t last) const {
    ifreq request{};
    std::strcpy(request.ifr_name, "nz0");
    const SocketAddress address(4, {10, 77, 0, last}, 0);
    std::memcpy(&request.ifr_addr, address.get(), address.size);
    return ioctl(any.get(), SIOCSIFADDR, &request) == 0;
  }

  HandClock clock;
  std::unique_ptr<Side> a;
  Fd any;  ///< a socket, to ask the kernel by
};

/// The kernel tells once that something has changed; how it is now has to be asked, which takes a descriptor.
TEST_F(TcpLinks, AreLookedAtAgainWhenThatWasNotPossible) {
  settle(*a);  // a sanitizer that meets a class for the first time needs descriptors too
  static_cast<const Clock&>(clock).now();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{static_cast<rlim_t>(Fd(dup(any.get())).get()), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_TRUE(set_address(2));
  const bool refused = drive([&] { return a->logged("how cannot be told now"); }, *a);
  EXPECT_EQ(a->transport->next_deadline(), clock.now() + TcpOptions{}.accept_pause) << "who sleeps is woken for it";
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(refused);
  clock.advance(TcpOptions{}.accept_pause);
  EXPECT_TRUE(drive([&] { return a->logged("rail tcp/nz0 is lost: nz0 has lost its address"); }, *a));
}

/// The addresses of a process of another namespace say so.
TEST_F(TcpLinks, ANamespaceHasALoopbackOfItsOwn) {
  TcpOptions options;
  options.loopback = true;
  const Side here(33, clock, options, {{"nz0", "nz0", 4, {10, 77, 0, 1}, 8, 0}});
  ASSERT_NE(here.transport, nullptr) << here.why.text();
  const std::uint64_t network = here.transport->loopback().network;
  EXPECT_NE(network, 0u);
  struct stat initial {};
  EXPECT_TRUE(stat("/proc/1/ns/net", &initial) != 0 || initial.st_ino != network);
}

/// A node whose loopback is down has none, but its rails.
TEST_F(TcpLinks, WithoutALoopbackThereAreRailsStill) {
  ASSERT_EQ(std::system("ip link set lo down && ip addr del 127.0.0.1/8 dev lo"), 0);
  TcpOptions options;
  options.loopback = true;
  const Side here(33, clock, options, {{"nz0", "nz0", 4, {10, 77, 0, 1}, 8, 0}});
  EXPECT_EQ(std::system("ip addr add 127.0.0.1/8 dev lo && ip link set lo up"), 0);
  ASSERT_NE(here.transport, nullptr) << here.why.text();
  EXPECT_EQ(here.transport->loopback().network, 0u);
  EXPECT_TRUE(here.logged("processes of this node cannot use its loopback"));
}

/// The error of a call that gave up names the last thing that each lane has heard.
TEST_F(TcpLinks, WhoTriesOverALostRailHearsWhatIsWrong) {
  ASSERT_TRUE(set_address(2));
  ASSERT_TRUE(drive([&] { return a->logged("is lost"); }, *a));
  a->transport->connect({22, 0, 0, false}, 0, a->transport->rails()[0], clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return !a->failures.empty(); }, *a));
  EXPECT_NE(a->failures[0].find("the rail is lost: nz0 has lost its address"), std::string::npos) << a->failures[0];
  ASSERT_TRUE(set_address(1));
  ASSERT_TRUE(drive([&] { return a->logged("is back at 10.77.0.1"); }, *a));
  a->known = 22;
  a->transport->connect({22, 0, 0, false}, 0, RailAddress{"tcp", "nobody", 4, {10, 77, 0, 1}, 8, 1, 0}, clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return a->failures.size() == 2; }, *a));
  EXPECT_EQ(a->failures[1].find("the rail is lost"), std::string::npos) << a->failures[1];
}

}  // namespace
}  // namespace nezha::test
