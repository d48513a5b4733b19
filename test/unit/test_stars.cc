// SPDX-License-Identifier: BSD-3-Clause
/// When a team asks whether all can use an aggregator. A service that refuses every operation costs a call over the rails each time.
#include "engine/aggregation/stars.h"

#include <gtest/gtest.h>

namespace nezha::test {
namespace {

class TeamStars : public testing::Test {
 protected:
  /// Calls that pass before one asks.
  std::size_t pause() {
    std::size_t calls = 0;
    while (!stars_.agreement_due() && calls < 100000) ++calls;
    return calls;
  }
  /// The team joins, gets the sums of so many calls, lacks those of one more and leaves.
  void use(std::size_t calls) {
    stars_.join(0, nullptr);
    for (std::size_t call = 0; call <= calls; ++call) {
      stars_.begin(call_, 1);
      stars_.settled(1, false);
      stars_.confirmation(1)[1] = call < calls ? 0 : 1;
      ASSERT_EQ(stars_.lacking(0), call == calls);
      ASSERT_EQ(stars_.accept(call_), call < calls ? call_.bytes() : 0);
    }
    stars_.leave(0);
  }
  static AggregatorShare everything() {
    AggregatorShare share;
    share.per_cent = 100;
    return share;
  }

  std::vector<std::byte> send_ = std::vector<std::byte>(1 << 20), sums_ = send_;
  Call call_ = [this] {
    Call call;
    call.send = send_.data();
    call.recv = sums_.data();
    call.count = send_.size() / sizeof(float);
    call.element = sizeof(float);
    call.star.type = NEZHA_FLOAT;
    call.star.op = NEZHA_SUM;
    return call;
  }();
  BufferPool buffers_;
  Stars stars_{7, 4, 0, everything(), 0, buffers_};
};

TEST_F(TeamStars, AskInEveryEighthCallAtFirst) {
  EXPECT_EQ(pause(), 0U);
  EXPECT_EQ(pause(), 7U);
  EXPECT_EQ(pause(), 7U);
}

TEST_F(TeamStars, AskEverMoreRarelyWhileNoSumsCome) {
  EXPECT_EQ(pause(), 0U);
  for (const std::size_t calls : {15, 31, 63, 127, 255, 255}) {
    use(0);
    EXPECT_EQ(pause(), calls);
  }
  use(1);
  EXPECT_EQ(pause(), 7U) << "sums came";
}

}  // namespace
}  // namespace nezha::test
