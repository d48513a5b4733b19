// SPDX-License-Identifier: BSD-3-Clause
/// Verbs rails of a device that is not there: who connects to their listeners, and how pairs end.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/worker_thread.h"
#include "fake_verbs.h"
#include "rail/verbs/verbs_kind.h"
#include "temporary_folder.h"
#include "trunk_pair.h"

namespace nezha::test {
namespace {

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
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
  /// The same beside so many that are up.
  void linger_with(int others) {
    clock_.advance(VerbsOptions().linger);
    kind_->poll(Watch::rare, *this);
    EXPECT_EQ(pairs_.made(), others);
  }
  bool readable(Watch watch) const {
    pollfd wait{kind_->fd(watch), POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }

  void arrived(std::size_t, std::unique_ptr<QueuePair> pair, std::string) override {
    const std::uint32_t own = pair->shared_receives() == 0 ? 1 : 0;
    Slots slots{.size = 64, .receives = own, .sends = 1, .memory = {}, .owner = std::make_shared<std::byte[]>(128)};
    slots.memory = {slots.owner.get(), 128};
    EXPECT_TRUE(pair->enroll(slots, *this).ok());
    EXPECT_TRUE(pair->start().ok());
    memory_ = slots.owner;
    arrived_.push_back(std::move(pair));
  }
  void reached() override { reached_ = true; }
  void connected() override { connected_ = true; }
  void received(std::uint32_t slot, std::size_t size) override { received_.push_back({slot, size}); }
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
  std::vector<std::pair<std::uint32_t, std::size_t>> received_;
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

/// The same of a port of InfiniBand, whose interface is the loopback one.
class InfinibandPairs : public VerbsPairs {
 protected:
  void SetUp() override {
    Device::sysfs = folder_.path();
    const std::filesystem::path interface = Device::sysfs + "/class/infiniband/fake/device/net/lo";
    std::filesystem::create_directories(interface);
    std::ofstream(interface / "type") << "32\n";
    Device::infiniband = true;
    VerbsPairs::SetUp();
  }
  void TearDown() override {
    VerbsPairs::TearDown();
    Device::sysfs = "/sys";
    Device::infiniband = false;
    Device::flags = 0;
  }
  /// Whether a pair whose other side says this finds it by its GID, not by its LID alone.
  bool is_global(bool needs_gid, std::byte subnet) {
    const Fd& fd = clients_.emplace_back(connect_to_it());
    PairWords words;
    words.mtu = 3;
    words.infiniband = true;
    words.lid = 77;
    words.gid = gid_of(Device::kHere);
    words.gid[0] = subnet;
    words.needs_gid = needs_gid;
    const PairWordsBytes bytes = write_pair_words(words);
    EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    const int times = pairs_.times();
    EXPECT_TRUE(poll_until([&] { return pairs_.times() != times; }));
    EXPECT_EQ(pairs_.way().dlid, 77);
    EXPECT_EQ(pairs_.way().grh.dgid.raw[0], static_cast<std::uint8_t>(subnet));
    return pairs_.way().is_global != 0;
  }

 private:
  std::vector<Fd> clients_;
  TemporaryFolder folder_;
};

TEST_F(InfinibandPairs, GoByGidWhereAPortHasNoOtherOrAnotherSubnet) {
  pairs_.let();
  EXPECT_FALSE(is_global(false, {}));
  EXPECT_TRUE(is_global(true, {}));
  EXPECT_TRUE(is_global(false, std::byte{1}));
  Device::flags = IBV_QPF_GRH_REQUIRED;
  EXPECT_TRUE(is_global(false, {}));
}

/// All of a rail receive into the same slots.
class SharingPairs : public VerbsPairs {
 protected:
  void SetUp() override {
    queues = {};
    queues.shares = true;
    VerbsPairs::SetUp();
    pairs_.let();
  }
  void TearDown() override {
    VerbsPairs::TearDown();
    EXPECT_EQ(queues.made, 0);
    queues = {};
  }
  /// One that is up.
  QueuePair& make() {
    clients_.push_back(connect_to_it());
    say(clients_.back(), Device::kHere);
    connected_ = false;
    EXPECT_TRUE(poll_until([&] { return connected_; }));
    return *arrived_.back();
  }
  /// A message of that many bytes has come for the newest pair.
  void complete(std::uint64_t request, std::uint32_t queue_pair, ibv_wc_status status = IBV_WC_SUCCESS) {
    ibv_wc completion{};
    completion.wr_id = request;
    completion.status = status;
    completion.byte_len = 40;
    completion.qp_num = queue_pair;
    queues.completed.push_back(completion);
    queues.posted.clear();
    kind_->poll(Watch::all, *this);
  }
  static constexpr std::uint32_t kFirst = 101;  ///< number of the first queue pair

  std::vector<Fd> clients_;
};

TEST_F(SharingPairs, HaveTheMoreReceivesTheFewerTheyAre) {
  const std::uint32_t all = VerbsOptions().shared_receives;
  EXPECT_EQ(make().shared_receives(), all);
  EXPECT_EQ(queues.posted.size(), all);
  EXPECT_EQ(make().shared_receives(), all / 2);
  EXPECT_EQ(arrived_[0]->shared_receives(), all / 2);
  EXPECT_EQ(queues.posted.size(), all) << "no more memory";
  arrived_.pop_back();
  EXPECT_EQ(arrived_[0]->shared_receives(), all);
}

TEST_F(SharingPairs, TakeAMessageFromASlotThatIsThenEverybodys) {
  QueuePair& pair = make();
  const std::uint64_t request = queues.posted[7];
  complete(request, kFirst);
  ASSERT_EQ(received_.size(), 1U);
  EXPECT_EQ(received_[0].second, 40U);
  EXPECT_EQ(pair.shared_slot(received_[0].first).size(), VerbsOptions().slot);
  EXPECT_TRUE(queues.posted.empty());
  ASSERT_TRUE(pair.post_receive(received_[0].first).ok());
  EXPECT_EQ(queues.posted, std::vector{request});
}

TEST_F(SharingPairs, StopOnceWhatCameForThemIsSeen) {
  make();
  const std::uint64_t request = queues.posted[3];
  arrived_.back()->close();
  EXPECT_EQ(pairs_.stopped(), 0);
  EXPECT_EQ(kind_->next_deadline(), 1);
  complete(request, kFirst);
  EXPECT_EQ(pairs_.stopped(), 1);
  EXPECT_EQ(queues.posted, std::vector{request});
}

TEST_F(SharingPairs, LeaveWhatCameForOneThatIsClosedToOthers) {
  make();
  const std::uint64_t request = queues.posted[3];
  arrived_.back()->close();
  complete(request, kFirst);
  EXPECT_TRUE(received_.empty());
  EXPECT_EQ(queues.posted, std::vector{request});
}

/// Nobody looks at completions while the process computes, until the pair is destroyed.
TEST_F(SharingPairs, LeaveAllThatCameToOthersBeforeTheyAreDestroyed) {
  make();
  const std::vector<std::uint64_t> all = queues.posted;
  arrived_.clear();
  kind_->poll(Watch::rare, *this);
  for (const std::uint64_t request : all) {
    ibv_wc completion{};
    completion.wr_id = request;
    completion.qp_num = kFirst;
    queues.completed.push_back(completion);
  }
  queues.posted.clear();
  linger_with(0);
  EXPECT_EQ(queues.posted, all);
}

TEST_F(SharingPairs, GiveTheSlotOfAnErrorBack) {
  make();
  const std::uint64_t request = queues.posted[3];
  complete(request, kFirst, IBV_WC_LOC_LEN_ERR);
  EXPECT_FALSE(why_.ok());
  EXPECT_EQ(queues.posted, std::vector{request});
}

/// Each that is closed may take a slot with it.
TEST_F(SharingPairs, GetNewSlotsOnceMuchMayBeLost) {
  const std::uint32_t all = VerbsOptions().shared_receives;
  for (std::uint32_t i = 0; i < all / 4; ++i) {
    EXPECT_EQ(queues.posted.size(), i == 0 ? 0 : all) << i;
    make();
    arrived_.clear();
  }
  make();
  EXPECT_EQ(queues.posted.size(), 2 * all);
  EXPECT_EQ(queues.made, 2) << "pairs that are not destroyed yet have the others";
  linger_with(1);
  EXPECT_EQ(queues.made, 1);
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
