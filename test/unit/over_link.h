// SPDX-License-Identifier: BSD-3-Clause
/// A side with a rail over a link of the test's own, which the test moves, deletes and makes anew.
#pragma once

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <cstring>

#include "tcp_pair.h"

namespace nezha::test {

inline constexpr char kMakeLinks[] =
    "ip link add nz0 type veth peer name nz1 && ip link set nz0 up addrgenmode none && ip link set nz1 up addrgenmode "
    "none";

inline bool shell(const std::string& commands) {
  return std::system(("{ " + commands + "; } 2>/dev/null").c_str()) == 0;
}

/// This process has nothing but these two links, joined. False: it may not have them.
inline bool move_to_links() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  return shell(std::string("ip link set lo up && ") + kMakeLinks);
}

class OverLink : public testing::Test {
 protected:
  void SetUp() override {
    static const bool moved = move_to_links();
    if (!moved) GTEST_SKIP() << "needs links of its own: root or user namespaces, veth, and the command ip";
    any = Fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_TRUE(set_address(1));
  }
  void open(const TcpOptions& options) {
    a = std::make_unique<Side>(11, clock, options, std::vector<Interface>{{"nz0", "nz0", 4, {10, 77, 0, 1}, 8, 0}});
    ASSERT_NE(a->transport, nullptr) << a->why.text();
    settle(*a);
  }
  /// Of nz0, to 10.77.0.`last`.
  bool set_address(std::uint8_t last) const {
    ifreq request{};
    std::strcpy(request.ifr_name, "nz0");
    const SocketAddress address(4, {10, 77, 0, last}, 0);
    std::memcpy(&request.ifr_addr, address.get(), address.size);
    return ioctl(any.get(), SIOCSIFADDR, &request) == 0;
  }
  bool comes_to_log(const std::string& part) {
    return drive([&] { return a->logged(part); }, *a);
  }

  HandClock clock;
  std::unique_ptr<Side> a;
  Fd any;  ///< a socket, to ask the kernel by
};

}  // namespace nezha::test
