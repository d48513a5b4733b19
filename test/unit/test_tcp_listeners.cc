// SPDX-License-Identifier: BSD-3-Clause
/// The listeners of a rail whose interface was made anew or has another address, when a child of fork() still holds the old
/// ones.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "over_link.h"

namespace nezha::test {
namespace {

constexpr std::uint16_t kPort = 4711;

/// Holds every descriptor that this process has at the time, and does nothing.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t pid_;
};

SocketAddress rail_at(std::uint8_t last, std::uint16_t port = kPort) { return {4, {10, 77, 0, last}, port}; }

Fd connected(const SocketAddress& to) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(fd.get(), to.get(), to.size) == 0 ? std::move(fd) : Fd();
}

class TcpListeners : public OverLink {
 protected:
  /// There is one port for the listeners, and whatever address nz0 has will do.
  void open_on_one_port() {
    TcpOptions options;
    options.ports = {kPort, kPort};
    options.rules = DiscoverOptions{};
    open(options);
  }
  bool made_anew() const { return shell(std::string("ip link del nz0 && ") + kMakeLinks) && set_address(1); }
  /// Nothing is left for progress() to do, so that whoever waits sleeps.
  bool comes_to_rest() {
    for (int i = 0; i < 100; ++i) {
      a->transport->progress(Watch::all);
      poll(nullptr, 0, 1);
    }
    return !a->transport->progress(Watch::all);
  }
};

/// The old listener on lo has the new one's address.
TEST_F(TcpListeners, GiveUpTheirPortAlsoWhereAChildHoldsThem) {
  open_on_one_port();
  const Child child;
  ASSERT_TRUE(made_anew());
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.1"));
  EXPECT_FALSE(a->logged("are taken"));
}

/// A connection that nobody takes any more must not keep the service thread awake.
TEST_F(TcpListeners, AreNotHeardOfAnyMoreWhereAChildHoldsThem) {
  open_on_one_port();
  const Child child;
  const Fd client = connected(rail_at(1));
  ASSERT_TRUE(client);
  ASSERT_TRUE(set_address(2));
  ASSERT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.2"));
  EXPECT_TRUE(comes_to_rest());
}

TEST_F(TcpListeners, OfARailThatIsOneTooManyAreClosedAlsoWhereAChildHoldsThem) {
  TcpOptions options;
  options.rules = DiscoverOptions{};
  open(options);
  std::unique_ptr<Child> child;
  TcpPlace place;
  a->on_new_rail = [&](const RailAddress& address) {
    child = std::make_unique<Child>();
    read_place(address, place);
  };
  ASSERT_TRUE(shell("ip addr add 10.78.0.1/24 dev nz1"));
  EXPECT_TRUE(comes_to_log("not a rail: nz1: one rail too many"));
  EXPECT_FALSE(connected(SocketAddress(place)));
  EXPECT_TRUE(comes_to_rest());
  ASSERT_TRUE(shell("ip addr del 10.78.0.1/24 dev nz1"));
}

}  // namespace
}  // namespace nezha::test
