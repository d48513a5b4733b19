// SPDX-License-Identifier: BSD-3-Clause
/// A process's core over a transport that has rails and no lanes, for tests of it.
#pragma once

#include <gtest/gtest.h>

#include "engine/core.h"
#include "rail/tcp/tcp_place.h"
#include "trunk_pair.h"

namespace nezha {

class StoppedClock final : public Clock {
 public:
  Nanoseconds now() const override { return time; }
  Nanoseconds time = kSecond;
};

inline std::vector<RailAddress> some_rails(std::size_t count) {
  std::vector<RailAddress> rails(count);
  for (std::size_t i = 0; i < count; ++i) {
    rails[i] = tcp_address({"eth" + std::to_string(i), "", 4, {10, static_cast<std::uint8_t>(i), 0, 1}, 24, 0}, 1);
  }
  return rails;
}

/// What a transport was told.
struct Words {
  std::size_t bound = 0;
  bool announces = true;               ///< what it says of it
  std::vector<std::size_t> announced;  ///< rails
  std::size_t taken = 0;               ///< addresses, the last time
  std::vector<std::size_t> connected;  ///< rails
  Loopback loopback;                   ///< what it says of it
};

inline Loopback some_loopback(std::uint64_t network) { return {network, tcp_address({"lo", "lo", 4, {127, 0, 0, 1}, 8, 0}, 1)}; }

/// Has rails and no lanes, and remembers what it was told.
class Told final : public Transport {
 public:
  explicit Told(Words& words) : words_(words) {}
  std::span<const RailAddress> rails() const override { return rails_; }
  std::string where(const RailAddress&) const override { return "nowhere"; }
  Loopback loopback() const override { return words_.loopback; }
  void connect(const LaneSpec&, std::size_t local, const RailAddress&, Nanoseconds) override { words_.connected.push_back(local); }
  bool progress(Watch) override { return false; }
  bool admit() override { return false; }
  int wait_fd(Watch) const override { return -1; }
  Nanoseconds next_deadline() const override { return 0; }
  void bound_lanes(std::size_t bytes) override { words_.bound = bytes; }
  bool may_announce(std::size_t) const override { return words_.announces; }
  void announce(std::size_t rail, std::span<const RailAddress* const> taken) override {
    words_.announced.push_back(rail);
    words_.taken = taken.size();
  }
  void forget(Lane&) override {}

 private:
  Words& words_;
  const std::vector<RailAddress> rails_ = some_rails(2);
};

class OneOfAJob : public testing::Test {
 protected:
  explicit OneOfAJob(std::uint32_t rank = 0, const Loopback& loopback = {}) : core(config, clock, {}, rank, "here", 1000, {}) {
    words.loopback = loopback;
    core.add_transport(std::make_unique<Told>(words));
  }

  /// Another one, with so many rails, on a node of its own or on this one.
  void add_peer(std::size_t rails, bool same_node = false) { add_peer(some_rails(rails), same_node); }
  void add_peer(std::vector<RailAddress> rails, bool same_node, const Loopback& loopback = {}) {
    Address address;
    address.id = ++peers + 1;
    address.job_rank = static_cast<std::uint32_t>(peers);
    address.node = "there";
    address.rails = std::move(rails);
    address.loopback = loopback;
    Status why;
    latest = core.add_peer(encode_address(address), same_node, why);
    ASSERT_NE(latest, nullptr) << why.text();
    EXPECT_EQ(latest->trunk, nullptr) << "nobody needs it yet";
    core.open(*latest);
  }

  Config config;
  StoppedClock clock;
  Words words;
  std::size_t peers = 0;
  Peer* latest = nullptr;
  test::HandLane lane{{2, 0, 0, false, 1}}, other_lane{{2, 1, 1, false, 1}};  ///< outlive the core, which closes them
  Core core;
};

}  // namespace nezha
