// SPDX-License-Identifier: BSD-3-Clause
/// The listeners of a rail whose interface was made anew or has another address, also when not all of them can be
/// opened at once, and when a child of fork() still holds the old ones.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "over_link.h"

namespace {

/// So many listeners to come are refused by epoll.
int refused = 0;

bool listens(int fd) {
  int is = 0;
  socklen_t size = sizeof is;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &size) == 0 && is != 0;
}

}  // namespace

/// In the C library's place.
extern "C" int epoll_ctl(int set, int operation, int fd, epoll_event* event) noexcept {
  if (operation == EPOLL_CTL_ADD && refused > 0 && listens(fd)) {
    --refused;
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_epoll_ctl, set, operation, fd, event));
}

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

/// Takes the port of a rail's listener on nz0.
Fd occupied(const SocketAddress& at) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return bind(fd.get(), at.get(), at.size) == 0 && listen(fd.get(), 1) == 0 ? std::move(fd) : Fd();
}

class TcpListeners : public OverLink {
 protected:
  void SetUp() override {
    OverLink::SetUp();
    refused = 0;
  }
  /// There is one port for the listeners, and whatever address nz0 has will do.
  void open_on_one_port() {
    TcpOptions options;
    options.ports = {kPort, kPort};
    options.rules = DiscoverOptions{};
    open(options);
  }
  std::ptrdiff_t times_logged(const std::string& part) const {
    return std::count_if(a->lines.begin(), a->lines.end(),
                         [&](const std::string& line) { return line.find(part) != line.npos; });
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

/// Nothing more comes from the kernel that would cause another try.
TEST_F(TcpListeners, AreTriedAgainAfterAPause) {
  open_on_one_port();
  ASSERT_TRUE(set_address(2));
  Fd other = occupied(rail_at(2));
  ASSERT_TRUE(other);
  ASSERT_TRUE(comes_to_log("rail tcp/nz0 is lost: all ports from 4711 to 4711 are taken"));
  for (int i = 0; i < 3; ++i) {
    settle(*a);
    EXPECT_EQ(a->transport->next_deadline(), clock.now() + TcpOptions{}.reopen_pause) << "who sleeps is woken for it";
    clock.advance(TcpOptions{}.reopen_pause);
  }
  settle(*a);
  EXPECT_EQ(times_logged("is lost"), 1) << "once for all tries";
  other.reset();
  settle(*a);
  EXPECT_FALSE(a->logged("is back"));
  clock.advance(TcpOptions{}.reopen_pause);
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.2"));
  EXPECT_EQ(a->transport->next_deadline(), 0);
  EXPECT_TRUE(connected(rail_at(2)));
}

/// It is as it was, but for its listeners, which are closed.
TEST_F(TcpListeners, AreOpenedForTheOldAddressWhenTheNewOneHadNone) {
  open_on_one_port();
  ASSERT_TRUE(set_address(2));
  const Fd other = occupied(rail_at(2));
  ASSERT_TRUE(other);
  ASSERT_TRUE(comes_to_log("is lost"));
  ASSERT_TRUE(set_address(1));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.1"));
  EXPECT_EQ(a->transport->next_deadline(), 0);
  EXPECT_TRUE(connected(rail_at(1)));
}

/// The peers' rails have that of its first address, and are of no use to another.
TEST_F(TcpListeners, KeepTheirFamilyWhereOnlyTheOtherOneHasAnAddressLeft) {
  if (!shell("ip addr add fd77::1/64 dev nz0 nodad")) GTEST_SKIP() << "no IPv6 here";
  open_on_one_port();
  ASSERT_TRUE(shell("ip addr del 10.77.0.1/8 dev nz0"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: nz0 has lost its address"));
  settle(*a);
  EXPECT_FALSE(a->logged("is back"));
  ASSERT_TRUE(set_address(1));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.1"));
  EXPECT_TRUE(connected(rail_at(1)));
  ASSERT_TRUE(shell("ip addr del fd77::1/64 dev nz0"));
}

TEST_F(TcpListeners, AreAtAnotherAddressOnlyUntilTheFirstOneIsBack) {
  ASSERT_TRUE(shell("ip addr add 10.78.0.1/24 dev nz0"));
  open_on_one_port();
  ASSERT_TRUE(shell("ip addr del 10.77.0.1/8 dev nz0"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.78.0.1"));
  ASSERT_TRUE(shell("ip addr add 10.77.0.1/8 dev nz0"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.1"));
  EXPECT_TRUE(connected(rail_at(1)));
  ASSERT_TRUE(shell("ip addr del 10.78.0.1/24 dev nz0"));
}

/// A rail is only where connections are heard of.
TEST_F(TcpListeners, ThatEpollRefusesAreNone) {
  open_on_one_port();
  const RailAddress before = a->transport->rails()[0];
  refused = 1;
  ASSERT_TRUE(set_address(2));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: epoll: Cannot allocate memory"));
  EXPECT_EQ(a->transport->rails()[0], before);
  EXPECT_FALSE(connected(rail_at(2)));
  clock.advance(TcpOptions{}.reopen_pause);
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.2"));
  EXPECT_TRUE(connected(rail_at(2)));
}

}  // namespace
}  // namespace nezha::test
