// SPDX-License-Identifier: BSD-3-Clause
/// Verbs rails of a device that is not there: who connects to their listeners, and how pairs end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/worker_thread.h"
#include "rail/verbs/verbs_kind.h"
#include "trunk_pair.h"

namespace nezha::test {
namespace {

using namespace std::chrono_literals;

/// What the library does to pairs. To be made ready to receive takes until it
/// is let.
class Pairs {
 public:
  ibv_qp* make() { return ++made_, new ibv_qp{}; }
  void destroy(ibv_qp* pair) {
    delete pair;
    --made_;
  }
  int modify(ibv_qp_state to) {
    stopped_ += to == IBV_QPS_ERR;
    if (to != IBV_QPS_RTR) return 0;
    std::unique_lock lock(mutex_);
    ++asked_;
    if (!changed_.wait_for(lock, 20s, [&] { return let_; })) waited_for_ = true;
    return 0;
  }
  void let(bool on = true) {
    const std::lock_guard lock(mutex_);
    let_ = on;
    changed_.notify_all();
  }
  int made() const { return made_; }
  int stopped() const { return stopped_; }
  int times() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  bool waited_for() const { return waited_for_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int made_ = 0, asked_ = 0;
  std::atomic<int> stopped_ = 0;
  bool let_ = false, waited_for_ = false;
};

Pairs* pairs = nullptr;

/// A port of RoCE on the loopback's address.
class Device {
 public:
  Device() {
    verbs_.alloc_pd = [](ibv_context*) { return new ibv_pd{}; };
    verbs_.dealloc_pd = [](ibv_pd* domain) { return delete domain, 0; };
    verbs_.reg_mr = [](ibv_pd*, void*, std::size_t, int) { return new ibv_mr{}; };
    verbs_.dereg_mr = [](ibv_mr* memory) { return delete memory, 0; };
    verbs_.create_comp_channel = [](ibv_context*) {
      auto* channel = new ibv_comp_channel{};
      channel->fd = eventfd(0, EFD_CLOEXEC);
      return channel;
    };
    verbs_.destroy_comp_channel = [](ibv_comp_channel* channel) { return close(channel->fd), delete channel, 0; };
    verbs_.create_cq = [](ibv_context*, int entries, void*, ibv_comp_channel*, int) {
      auto* queue = new ibv_cq{};
      queue->cqe = entries;
      return queue;
    };
    verbs_.resize_cq = [](ibv_cq* queue, int entries) {
      if (entries > longest) return EOPNOTSUPP;
      return queue->cqe = entries, 0;
    };
    verbs_.destroy_cq = [](ibv_cq* queue) { return delete queue, 0; };
    verbs_.create_qp = [](ibv_pd*, ibv_qp_init_attr*) { return pairs->make(); };
    verbs_.destroy_qp = [](ibv_qp* pair) { return pairs->destroy(pair), 0; };
    verbs_.modify_qp = [](ibv_qp*, ibv_qp_attr* to, int) { return pairs->modify(to->qp_state); };
    verbs_.close_device = [](ibv_context* context) { return close(context->async_fd); };
    verbs_.get_async_event = [](ibv_context*, ibv_async_event*) { return -1; };
    verbs_.query_device = [](ibv_context*, ibv_device_attr* limits) { return limits->max_cqe = 1 << 16, 0; };
    verbs_.query_gid_table = [](ibv_context*, ibv_gid_entry* table, std::size_t, std::uint32_t, std::size_t) {
      table[0] = {};
      table[0].port_num = 1;
      table[0].gid_type = IBV_GID_TYPE_ROCE_V2;
      table[0].ndev_ifindex = if_nametoindex("lo");
      const auto gid = gid_of(kHere);
      std::memcpy(table[0].gid.raw, gid.data(), gid.size());
      return ssize_t{1};
    };
    context_.sz = sizeof context_;
    context_.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    context_.context.async_fd = ends[0];
    kernel_ = Fd(ends[1]);
    context_.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr* port, std::size_t) {
      port->state = IBV_PORT_ACTIVE;
      port->link_layer = IBV_LINK_LAYER_ETHERNET;
      port->gid_tbl_len = 1;
      port->active_mtu = IBV_MTU_1024;
      return 0;
    };
  }
  std::unique_ptr<VerbsDevice> open() {
    auto device = std::make_unique<VerbsDevice>(verbs_, &context_.context, "fake", std::uint8_t{1});
    const Status status = device->look();
    EXPECT_TRUE(status.ok()) << status.text();
    return device;
  }

  void take_away() { kernel_.reset(); }

  static constexpr VerbsPlace kHere{4, {127, 0, 0, 1}, 0};
  static inline int longest = 0;  ///< entries that a queue of completions can be given later

 private:
  Fd kernel_;
  VerbsLibrary verbs_;
  verbs_context context_{};
};

class VerbsPairs : public testing::Test, protected MessageArrivals, protected QueuePairEvents {
 protected:
  void SetUp() override {
    pairs = &pairs_;
    std::vector<std::unique_ptr<VerbsDevice>> devices;
    devices.push_back(device_.open());
    ASSERT_TRUE(kind_->open(std::move(devices)).ok());
    ASSERT_TRUE(service_.start("test"));
    kind_->employ_service(service_);
  }
  void TearDown() override {
    pairs_.let();
    arrived_.clear();
    kind_.reset();
    EXPECT_EQ(pairs_.made(), 0);
  }

  Fd connect_to_it() {
    VerbsPlace place;
    EXPECT_TRUE(read_place(kind_->rails()[0].place, place));
    sockaddr_storage to{};
    const socklen_t size = socket_address(place, to);
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), size), 0);
    return fd;
  }
  static void say(const Fd& fd, const VerbsPlace& as) {
    PairWords words;
    words.mtu = 3;
    words.number = 5;
    words.gid = gid_of(as);
    const PairWordsBytes bytes = write_pair_words(words);
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  template <typename Done>
  bool poll_until(const Done& done) {
    for (int i = 0; i < 20000 && !done(); ++i) {
      kind_->poll(Watch::rare, *this);
      std::this_thread::sleep_for(1ms);
    }
    return done();
  }

  /// As long as pairs that have been stopped are kept.
  void linger() {
    const Nanoseconds due = kind_->next_deadline();
    ASSERT_GT(due, clock_.now());
    kind_->poll(Watch::rare, *this);
    EXPECT_NE(pairs_.made(), 0);
    clock_.advance(due - clock_.now());
    kind_->poll(Watch::rare, *this);
    EXPECT_EQ(pairs_.made(), 0);
  }
  bool readable(Watch watch) const {
    pollfd wait{kind_->fd(watch), POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }

  void arrived(std::size_t, std::unique_ptr<QueuePair> pair, std::string) override {
    Slots slots{.size = 64, .receives = 1, .sends = 1, .memory = {}, .owner = std::make_shared<std::byte[]>(128)};
    slots.memory = {slots.owner.get(), 128};
    EXPECT_TRUE(pair->enroll(slots, *this).ok());
    EXPECT_TRUE(pair->start().ok());
    memory_ = slots.owner;
    arrived_.push_back(std::move(pair));
  }
  void reached() override { reached_ = true; }
  void connected() override { connected_ = true; }
  void received(std::uint32_t, std::size_t) override {}
  void sent(std::uint32_t) override {}
  void broken(const Status& why) override {
    why_ = why;
    arrived_.back()->close();
  }

  Pairs pairs_;
  Device device_;
  TestClock clock_;
  WorkerThread service_;
  std::unique_ptr<VerbsKind> kind_ = std::make_unique<VerbsKind>(VerbsOptions(), clock_, Log());
  std::vector<std::unique_ptr<QueuePair>> arrived_;
  std::weak_ptr<std::byte[]> memory_;
  bool reached_ = false, connected_ = false;
  Status why_;
};

/// A neighbour that does not answer keeps the kernel busy for a second, which
/// nobody waits for.
TEST_F(VerbsPairs, EndWhileTheyAreMadeReady) {
  const Fd fd = connect_to_it();
  say(fd, Device::kHere);
  ASSERT_TRUE(poll_until([&] { return pairs_.times() != 0; }));
  arrived_.back()->close();
  arrived_.clear();
  kind_->poll(Watch::rare, *this);
  EXPECT_EQ(pairs_.made(), 1) << "it is in use";
  EXPECT_FALSE(memory_.expired());
  EXPECT_FALSE(pairs_.waited_for());
  pairs_.let();
  EXPECT_TRUE(poll_until([&] { return pairs_.stopped() == 1; }));
  linger();
  EXPECT_TRUE(memory_.expired());
}

/// The kernel may wait for seconds until a pair's last packet has left.
TEST_F(VerbsPairs, StopAtOnceAndAreDestroyedLater) {
  pairs_.let();
  const Fd fd = connect_to_it();
  say(fd, Device::kHere);
  ASSERT_TRUE(poll_until([&] { return connected_; }));
  arrived_.clear();
  EXPECT_EQ(pairs_.stopped(), 1);
  EXPECT_EQ(pairs_.made(), 1);
  EXPECT_FALSE(memory_.expired());
  linger();
  EXPECT_TRUE(memory_.expired());
}

/// One that is closed before its turn is not made ready.
TEST_F(VerbsPairs, EndBeforeTheyAreMadeReady) {
  const Fd first = connect_to_it(), second = connect_to_it();
  say(first, Device::kHere);
  ASSERT_TRUE(poll_until([&] { return pairs_.times() != 0; }));
  say(second, Device::kHere);
  for (int i = 0; i < 100; ++i) kind_->poll(Watch::rare, *this);
  ASSERT_EQ(arrived_.size(), 2U);
  arrived_.clear();
  pairs_.let();
  EXPECT_TRUE(poll_until([&] { return pairs_.stopped() == 2; }));
  EXPECT_EQ(pairs_.times(), 1);
  linger();
}

TEST_F(VerbsPairs, AreRefusedWhereTheyHaveAnotherAddressThanTheirConnection) {
  pairs_.let();
  const Fd fd = connect_to_it();
  say(fd, {4, {10, 1, 2, 3}, 0});
  ASSERT_TRUE(poll_until([&] { return !why_.ok(); }));
  EXPECT_EQ(why_.code(), Code::refused);
  EXPECT_EQ(pairs_.times(), 0);
}

TEST_F(VerbsPairs, AreAcceptedAgainOnceThereAreDescriptors) {
  const Fd fd = connect_to_it();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  kind_->poll(Watch::rare, *this);
  setrlimit(RLIMIT_NOFILE, &before);
  const Nanoseconds due = kind_->next_deadline();
  ASSERT_GT(due, clock_.now());
  kind_->poll(Watch::rare, *this);
  EXPECT_TRUE(arrived_.empty()) << "it is not asked all the time";
  clock_.advance(due - clock_.now());
  kind_->poll(Watch::rare, *this);
  kind_->poll(Watch::rare, *this);
  EXPECT_EQ(arrived_.size(), 1U);
  EXPECT_EQ(kind_->next_deadline(), 0);
}

/// Before the other process has said anything.
TEST_F(VerbsPairs, TellThatTheOtherSidesKernelHasAnswered) {
  std::unique_ptr<QueuePair> pair;
  ASSERT_TRUE(kind_->connect(0, kind_->rails()[0], pair).ok());
  arrived(0, std::move(pair), {});
  EXPECT_TRUE(poll_until([&] { return reached_; }));
  EXPECT_FALSE(connected_);
}

/// As one that fork() has made has it, too.
TEST_F(VerbsPairs, EndForTheOtherSideAlsoWhereAChildHasTheirSocket) {
  Fd client = connect_to_it();
  ASSERT_TRUE(poll_until([&] { return !arrived_.empty(); }));
  const Fd child(dup(static_cast<VerbsPair&>(*arrived_.back()).fd()));
  arrived_.back()->close();
  char unused;
  EXPECT_EQ(recv(client.get(), &unused, 1, MSG_DONTWAIT), 0);
  client.reset();
  EXPECT_FALSE(kind_->poll(Watch::rare, *this));
  EXPECT_FALSE(readable(Watch::rare)) << "nobody would sleep any more";
}

/// The kernel then reports errors on its descriptors, for ever.
TEST_F(VerbsPairs, EndOnceTheirDeviceIsTakenAway) {
  const Fd client = connect_to_it();
  ASSERT_TRUE(poll_until([&] { return !arrived_.empty(); }));
  device_.take_away();
  ASSERT_TRUE(poll_until([&] { return !why_.ok(); }));
  EXPECT_NE(why_.text().find("the device is gone"), std::string::npos) << why_.text();
  EXPECT_FALSE(kind_->poll(Watch::rare, *this));
  EXPECT_FALSE(readable(Watch::rare));
}

/// Some devices cannot lengthen it at all, some no further than they have to.
TEST_F(VerbsPairs, HaveRoomInTheQueueOfCompletions) {
  constexpr std::uint32_t kOfALane = 16 + 16 + 16;
  Device other;
  const auto device = other.open();
  ASSERT_TRUE(device->activate().ok());
  Device::longest = 0;
  for (int lane = 0; lane < 85; ++lane) ASSERT_TRUE(device->reserve(kOfALane).ok()) << lane;
  EXPECT_FALSE(device->reserve(kOfALane).ok());
  Device::longest = 86 * kOfALane;
  EXPECT_TRUE(device->reserve(kOfALane).ok());
}

}  // namespace
}  // namespace nezha::test
