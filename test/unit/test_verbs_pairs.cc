// SPDX-License-Identifier: BSD-3-Clause
/// Verbs rails of a device that is not there: who connects to their listeners, and how pairs end.
#include <sys/resource.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "verbs_pairs_case.h"

namespace nezha::test {
namespace {

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
