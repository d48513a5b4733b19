// SPDX-License-Identifier: BSD-3-Clause
/// Two ranks of a node that share no memory.
#include <algorithm>
#include <utility>

#include "wiring_case.h"

namespace nezha::test {
namespace {

/// Both peers are on this node, whose rails are spare then.
class LoopbackTest : public WiringTest {
 protected:
  LoopbackTest() {
    for (Peer& peer : peers_) {
      for (Wire& wire : peer.wires) wire.spare = true;
      Wire loopback;
      loopback.rails = kLoopback;
      peer.wires.insert(peer.wires.begin(), loopback);
      peer.trunk->add_lane(kLoopbackRail, kLoopbackRail, loopback_load_);
    }
  }
  std::size_t there(const Peer& peer) const {
    return static_cast<std::size_t>(
        std::count_if(peer.wires.begin(), peer.wires.end(), [](const Wire& wire) { return wire.there(); }));
  }
  void fail_loopback() {
    for (Peer& peer : peers_)
      wiring_.lane_failed(peer, kLoopback, peer.wires[0].attempt, {Code::refused, "a stranger"}, clock_.now());
  }

  static constexpr RailPair kLoopback{kLoopbackRail, kLoopbackRail};
  RailLoad loopback_load_;
};

TEST_F(LoopbackTest, IsEnough) {
  all_up();
  for (const Peer& peer : peers_) {
    EXPECT_TRUE(peer.settled);
    EXPECT_EQ(there(peer), 1u);
  }
  EXPECT_EQ(tries(0, 20 * kSecond) + tries(1, 20 * kSecond), 0u);
  wiring_.rail_back(0, clock_.now());
  wiring_.used(clock_.now());
  EXPECT_EQ(tries(0, kSecond), 0u) << "nobody needs it";
  EXPECT_TRUE(notices_.empty());
}

TEST_F(LoopbackTest, ThatFailsHasAllRailsTried) {
  wiring_.step(clock_.now());
  ASSERT_EQ(std::exchange(tried_, {}).size(), 2u);
  fail_loopback();
  for (Peer& peer : peers_) EXPECT_FALSE(peer.settled);
  all_up();
  for (const Peer& peer : peers_) {
    EXPECT_TRUE(peer.settled) << "nobody waits for the loopback any longer";
    EXPECT_EQ(there(peer), 2u);
  }
  EXPECT_GE(tries(kLoopbackRail, 20 * kSecond), 2u) << "it may work later";
}

TEST_F(LoopbackTest, ThatIsLostIsTriedBeforeTheRails) {
  all_up();
  clock_.advance(10 * kSecond);
  wiring_.used(clock_.now());
  lose(kLoopbackRail);
  clock_.advance(15 * kMillisecond);
  all_up();
  for (const Peer& peer : peers_) EXPECT_EQ(there(peer), 1u);
  EXPECT_TRUE(peers_[0].wires[0].there());
  lose(kLoopbackRail);
  EXPECT_GE(tries(1, kSecond), 2u) << "after a try in vain";
}

TEST_F(LoopbackTest, AloneIsNamedWhereNothingComesUp) {
  for (Peer& peer : peers_) peer.connects = false;
  clock_.advance(6 * kSecond);
  wiring_.step(clock_.now());
  EXPECT_EQ(notices_.size(), 2u);
}

}  // namespace
}  // namespace nezha::test
