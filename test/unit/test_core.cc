// SPDX-License-Identifier: BSD-3-Clause
/// What a process's peers may cost, and who is told of it.
#include <gtest/gtest.h>

#include "engine/core.h"
#include "engine/memory.h"

namespace nezha {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

class StoppedClock final : public Clock {
 public:
  Nanoseconds now() const override { return kSecond; }
};

std::vector<RailAddress> some_rails(std::size_t count) {
  std::vector<RailAddress> rails(count);
  for (std::size_t i = 0; i < count; ++i) {
    rails[i].transport = "tcp";
    rails[i].name = "eth" + std::to_string(i);
    rails[i].family = 4;
    rails[i].address = {10, static_cast<std::uint8_t>(i), 0, 1};
    rails[i].prefix = 24;
  }
  return rails;
}

/// Has rails and no lanes, and remembers what it was told.
class Told final : public Transport {
 public:
  explicit Told(std::size_t& bound) : bound_(bound) {}
  std::span<const RailAddress> rails() const override { return rails_; }
  void connect(const LaneSpec&, std::size_t, const RailAddress&, Nanoseconds) override {}
  bool progress(Watch) override { return false; }
  int wait_fd(Watch) const override { return -1; }
  Nanoseconds next_deadline() const override { return 0; }
  void bound_lanes(std::size_t bytes) override { bound_ = bytes; }
  void forget(Lane&) override {}

 private:
  std::size_t& bound_;
  const std::vector<RailAddress> rails_ = some_rails(2);
};

class Memory : public testing::Test {
 protected:
  Memory() : core(config, clock, {}, 0, "here", 1, {}) { core.add_transport(std::make_unique<Told>(bound)); }

  /// Another one, with so many rails, on a node of its own or on this one.
  void add_peer(std::size_t rails, bool same_node = false) {
    Address address;
    address.id = ++peers + 1;
    address.job_rank = static_cast<std::uint32_t>(peers);
    address.node = "there";
    address.rails = some_rails(rails);
    Status why;
    ASSERT_NE(core.add_peer(encode_address(address), same_node, why), nullptr) << why.text();
  }

  Config config;
  StoppedClock clock;
  std::size_t bound = 0;
  std::size_t peers = 0;
  Core core;
};

TEST_F(Memory, LanesGetLessAsPeersCome) {
  add_peer(2);
  EXPECT_EQ(bound, 512 * KiB);
  while (peers < 16) add_peer(2);
  EXPECT_EQ(bound, 512 * KiB);
  while (peers < 64) add_peer(2);
  EXPECT_EQ(bound, 128 * KiB);
  EXPECT_EQ(core.trunk_options(0).keep, keep_memory(65));
}

TEST_F(Memory, APeerWithOneLaneAllowsItMore) {
  while (peers < 64) add_peer(1);
  EXPECT_EQ(bound, 256 * KiB);
  add_peer(2);  // one with more counts for all
  EXPECT_EQ(bound, lane_memory(65, 2));
}

TEST(PeerMemory, IsWhatWasPromised) {
  for (std::size_t peers = 1; peers <= 110; ++peers)
    for (std::size_t lanes = 1; lanes <= kMaxRails && peers * lanes <= 256; ++lanes)
      EXPECT_LE(keep_memory(peers) + early_window(peers) / 4 * 5 + lanes * lane_memory(peers, lanes), std::min(2 * MiB, 32 * MiB / peers));
  for (std::size_t peers : {1000, 100000}) {
    EXPECT_EQ(early_window(peers), 16 * KiB);
    EXPECT_GE(keep_memory(peers), 2 * kMostCopied) << "a small operation must always fit";
    EXPECT_EQ(lane_memory(peers, 16), 64 * KiB) << "a connection must always work";
  }
}

}  // namespace
}  // namespace nezha
