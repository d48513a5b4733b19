// SPDX-License-Identifier: BSD-3-Clause
/// A rail over a link that comes and goes, among others that do, in a network namespace of the test's own.
#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdarg>
#include <cstdlib>

#include "over_link.h"
#include "rail/tcp/link_watch.h"

namespace {

/// Questions to the kernel that wait for the lock under which interfaces are made and deleted.
int questions = 0;
/// So many answers to come are marked as torn by changes.
int torn = 0;

}  // namespace

/// In the C library's place.
extern "C" ssize_t send(int fd, const void* data, size_t size, int flags) {
  sockaddr_storage self{};
  socklen_t length = sizeof self;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&self), &length) == 0 && self.ss_family == AF_NETLINK) ++questions;
  return syscall(SYS_sendto, fd, data, size, flags, nullptr, 0);
}

extern "C" ssize_t recv(int fd, void* data, size_t size, int flags) {
  const ssize_t got = syscall(SYS_recvfrom, fd, data, size, flags, nullptr, nullptr);
  if (got >= static_cast<ssize_t>(sizeof(nlmsghdr)) && torn > 0) {
    --torn;
    static_cast<nlmsghdr*>(data)->nlmsg_flags |= NLM_F_DUMP_INTR;
  }
  return got;
}

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if (request == SIOCETHTOOL) ++questions;
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

namespace nezha::test {
namespace {

constexpr char kOthersComeAndGo[] =
    "for i in 1 2 3 4 5 6 7 8 9 10; do ip link add other$i type veth peer name far$i && ip link set other$i up &&"
    " ip link set far$i up; done; for i in 1 2 3 4 5 6 7 8 9 10; do ip link del other$i; done";

constexpr std::size_t kSmallBuffer = 32 * 1024;  // much less than those cause
constexpr std::size_t kLargeBuffer = 4 * 1024 * 1024;

/// The service thread, as the test would have it.
class Service final : public RailWorker {
 public:
  void submit(Task& task) override { due = &task; }
  bool cancel(Task& task) override { return due != &task; }
  void run() { std::exchange(due, nullptr)->run(); }

  Task* due = nullptr;
};

class TcpLinks : public OverLink {
 protected:
  void SetUp() override {
    OverLink::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    open({});
    questions = torn = 0;
  }
  /// With a service thread, and as an engine would that takes up what appears.
  void open_with_service(std::size_t link_buffer) {
    TcpOptions options;
    options.rules = DiscoverOptions{};
    options.link_buffer = link_buffer;
    open(options);
    questions = torn = 0;
    a->transport->employ_service(service);
  }
  /// The kernel leaves the message out.
  static bool lose_address_unheard() {
    return shell(kOthersComeAndGo) && shell("ip addr del 10.77.0.1/8 dev nz0") && shell(kOthersComeAndGo);
  }

  Service service;
};

/// A node's containers come and go all day.
TEST_F(TcpLinks, OthersThatComeAndGoCauseNoQuestion) {
  open_with_service(kLargeBuffer);
  ASSERT_TRUE(shell(kOthersComeAndGo));
  settle(*a);
  EXPECT_EQ(questions, 0);
  EXPECT_EQ(service.due, nullptr);
  EXPECT_FALSE(a->logged("is lost"));
}

TEST_F(TcpLinks, OfTheRailAreFollowedWithoutAQuestion) {
  open_with_service(kLargeBuffer);
  ASSERT_TRUE(shell("ip link set nz1 down"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: nz0 has no carrier"));
  ASSERT_TRUE(shell("ip link set nz1 up"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.1"));
  ASSERT_TRUE(shell("ip link set nz0 down; ip link set nz0 name nz5; ip link set nz5 up"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0: its interface is called nz5 now"));
  ASSERT_TRUE(shell("ip link set nz5 down; ip link set nz5 name nz0; ip link set nz0 up"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0: its interface is called nz0 now"));
  settle(*a);
  ASSERT_TRUE(shell("ip link del nz0"));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: nz0 is gone"));
  a->lines.clear();
  ASSERT_TRUE(shell(kMakeLinks) && set_address(1));
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is back at 10.77.0.1"));
  EXPECT_EQ(questions, 0);
  EXPECT_EQ(service.due, nullptr);
}

/// Its speed has to be asked for, which may block.
TEST_F(TcpLinks, OneThatMayBecomeARailIsAskedAboutByTheServiceThread) {
  open_with_service(kLargeBuffer);
  ASSERT_TRUE(shell("ip addr add 10.78.0.1/24 dev nz1"));
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  settle(*a);
  EXPECT_FALSE(a->logged("nz1"));
  EXPECT_EQ(questions, 0);
  service.run();
  EXPECT_TRUE(comes_to_log("not a rail: nz1: one rail too many")) << "the test's side takes none";
  ASSERT_TRUE(shell("ip addr del 10.78.0.1/24 dev nz1"));
}

/// Messages that the kernel had to leave out are made up for by a list, which the service thread asks for. What is heard
/// between that and the answer counts.
TEST_F(TcpLinks, AreListedByTheServiceThreadAfterAnOverrun) {
  open_with_service(kSmallBuffer);
  ASSERT_TRUE(lose_address_unheard());
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  settle(*a);
  EXPECT_EQ(questions, 0);
  EXPECT_FALSE(a->logged("is lost"));
  ASSERT_TRUE(shell("ip link set nz1 down"));
  EXPECT_TRUE(comes_to_log("is lost: nz0 has no carrier")) << "also while the list is waited for";
  ASSERT_TRUE(shell("ip link set nz1 up"));
  EXPECT_TRUE(comes_to_log("is back at"));
  service.run();
  ASSERT_TRUE(set_address(1));
  settle(*a);
  EXPECT_FALSE(a->logged("has lost its address"));
  ASSERT_TRUE(lose_address_unheard());
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  service.run();
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: nz0 has lost its address"));
}

/// A second overrun while the list is waited for: it may lack what was left out, and is asked for again.
TEST_F(TcpLinks, AreListedAgainAfterAnOverrunMeanwhile) {
  open_with_service(kSmallBuffer);
  ASSERT_TRUE(shell(kOthersComeAndGo));
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  service.run();
  ASSERT_TRUE(lose_address_unheard());
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  EXPECT_FALSE(a->logged("is lost"));
  service.run();
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: nz0 has lost its address"));
}

/// The kernel may leave out entries that have not changed when others do while it lists them.
TEST_F(TcpLinks, AreListedAgainWhenTheListIsTorn) {
  LinkTable table;
  ASSERT_TRUE(read_link_table(table).ok());
  const int asked = questions;
  EXPECT_EQ(asked, 2) << "links and addresses";
  torn = 1;
  ASSERT_TRUE(read_link_table(table).ok());
  EXPECT_EQ(questions - asked, 4);
  EXPECT_EQ(table.list().size(), 3u) << "each once";
  torn = 1000;
  EXPECT_EQ(read_link_table(table).code(), Code::busy);
  EXPECT_EQ(table.list().size(), 3u);
  Discovery found;
  EXPECT_TRUE(discover({}, found).ok()) << "better than none";
  LinkWatch links;
  links.list_begins();
  EXPECT_TRUE(links.list_ends(table, true));
  EXPECT_EQ(links.table().list().size(), 3u);
  EXPECT_TRUE(links.stale()) << "what it lacks is still to be told";
}

/// Else a rail that the kernel left out would be lost, and nobody would ask again.
TEST_F(TcpLinks, AreListedAgainLaterWhereTheListIsTornEachTime) {
  open_with_service(kSmallBuffer);
  ASSERT_TRUE(lose_address_unheard());
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  torn = 1000;
  service.run();
  ASSERT_TRUE(comes_to_log("how cannot be told now"));
  EXPECT_FALSE(a->logged("is lost"));
  torn = 0;
  clock.advance(TcpOptions{}.accept_pause);
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  service.run();
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: nz0 has lost its address"));
}

/// How links are now has to be asked for then, which takes a descriptor.
TEST_F(TcpLinks, AreListedLaterWhenThatWasNotPossible) {
  open_with_service(kSmallBuffer);
  static_cast<const Clock&>(clock).now();  // a sanitizer that meets a class for the first time needs descriptors too
  ASSERT_TRUE(lose_address_unheard());
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{static_cast<rlim_t>(Fd(dup(any.get())).get()), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  service.run();
  const bool refused = comes_to_log("how cannot be told now");
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(refused);
  EXPECT_EQ(a->transport->next_deadline(), clock.now() + TcpOptions{}.accept_pause) << "who sleeps is woken for it";
  clock.advance(TcpOptions{}.accept_pause);
  ASSERT_TRUE(drive([&] { return service.due != nullptr; }, *a));
  service.run();
  EXPECT_TRUE(comes_to_log("rail tcp/nz0 is lost: nz0 has lost its address"));
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
  a->transport->connect({22, 0, 0, false}, 0, tcp_address({"nobody", "", 4, {10, 77, 0, 1}, 8, 0}, 1), clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return a->failures.size() == 2; }, *a));
  EXPECT_EQ(a->failures[1].find("the rail is lost"), std::string::npos) << a->failures[1];
}

}  // namespace
}  // namespace nezha::test
