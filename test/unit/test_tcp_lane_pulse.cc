// SPDX-License-Identifier: BSD-3-Clause
/// What a lane says of its far end's kernel, by which silence is judged.
#include <gtest/gtest.h>
#include <linux/filter.h>

#include "random_bytes.h"
#include "tcp_through.h"

namespace nezha::test {
namespace {

/// The shortest time that Linux leaves a lone packet unanswered.
constexpr Nanoseconds kDelayedAnswer = 40 * kMillisecond;

class TcpLanePulse : public TcpThrough {
 protected:
  LanePulse pulse() {
    clock.advance(TcpOptions{}.info_refresh);
    return a.lanes[0]->pulse();
  }
  /// From here on everything sent to the far end vanishes at its acceptor.
  void deafen() {
    sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog filter{1, &nothing};
    ASSERT_EQ(setsockopt(middle->to_one().fd(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0);
  }
  /// What came up the lane with it is answered.
  [[nodiscard]] bool becomes_idle() {
    return drive([&] { return middle->carry(), pulse().in_flight == 0; }, a, b);
  }
};

TEST_F(TcpLanePulse, WhatIsUnansweredIsInFlight) {
  ASSERT_TRUE(becomes_idle());
  const LanePulse before = pulse();
  EXPECT_FALSE(before.held_back);
  deafen();
  a.lanes[0]->send(Bytes(10), {});
  EXPECT_GT(pulse().in_flight, 0U);
  EXPECT_EQ(pulse().delivered, before.delivered);
}

TEST_F(TcpLanePulse, AnAnswerToFewPacketsMayComeLate) {
  ASSERT_TRUE(becomes_idle());
  const LanePulse idle = pulse();
  deafen();
  a.lanes[0]->send(Bytes(10), {});
  EXPECT_EQ(pulse().rtt, idle.rtt);
  for (int i = 0; i < 3; ++i) a.lanes[0]->send(Bytes(10), {});
  EXPECT_GE(idle.rtt - pulse().rtt, kDelayedAnswer) << "many are answered at once";
}

/// A process that reads nothing is only slow: what waits for it is no silence.
TEST_F(TcpLanePulse, WhatWaitsForTheFarEndsProcessIsNotInFlight) {
  const Bytes payload(64 * 1024);
  const Gather part{payload.data(), payload.size()};
  for (int i = 0; i < 1000 && !a.lanes[0]->busy(); ++i) a.lanes[0]->send(Bytes(10), {&part, 1});
  ASSERT_TRUE(a.lanes[0]->busy());
  EXPECT_TRUE(drive([&] { return pulse().in_flight == 0; }, a)) << pulse().in_flight;
  EXPECT_TRUE(pulse().held_back);
  EXPECT_GT(a.lanes[0]->fill(), payload.size());
}

}  // namespace
}  // namespace nezha::test
