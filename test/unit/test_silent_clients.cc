// SPDX-License-Identifier: BSD-3-Clause
/// Clients of a service that say nothing for minutes: those that are alive stay, those that are gone do not.
#include "raw_client.h"

namespace nezha::test {
namespace {

constexpr TeamId kStar = 77, kOther = 78;
constexpr Nanoseconds kMinute = 60 * kSecond;

/// A service and two members, each of which has a communicator of its own that waits for another member.
class SilentClients : public testing::Test {
 protected:
  void SetUp() override {
    for (auto& member : members_) member.greet(aggregation_, network_.now());
    pass(20 * kMillisecond, 50 * kMicrosecond);
    for (auto& member : members_) ASSERT_EQ(member.trunk().lanes_up(), 1U);
    describe(0, kStar);
    describe(1, kOther);
    pass(20 * kMillisecond, 50 * kMicrosecond);
    ASSERT_EQ(aggregation_.clients(), 2U);
    ASSERT_EQ(aggregation_.stars(), 2U);
  }
  void pass(Nanoseconds time, Nanoseconds step = 2 * kMillisecond) {
    for (const Nanoseconds until = network_.now() + time; network_.now() < until;) {
      network_.pass(step);
      service_.turn();
      aggregation_.progress(network_.now());
      for (auto& member : members_) member.process().turn();
    }
  }
  void describe(std::size_t member, TeamId star) {
    StarDescription said;
    said.terms = {.members = 2, .window = 2, .type = NEZHA_FLOAT, .op = NEZHA_SUM};
    said.count = 2 * kLeastChunk / sizeof(float);
    said.chunk = kLeastChunk;
    members_[member].say(star, 1, kStarDescription, 0, write_description(said), 2 * kLeastChunk);
  }

  SimNetwork network_{{.segment = 4096}, 1};
  std::array<SimPort, 3> ports_{{{network_, {}}, {network_, {}}, {network_, {}}}};
  RawProcess service_{network_, ports_[2], kNoRank, 1000};
  Aggregation aggregation_{service_.core(), Secret{}, Aggregation::Limits{}};
  std::array<RawClient, 2> members_{{{network_, ports_[0], 0, 1}, {network_, ports_[1], 1, 2}}};
};

TEST_F(SilentClients, StayWhileTheyLive) {
  pass(3 * kMinute);
  EXPECT_EQ(aggregation_.clients(), 2U);
  EXPECT_EQ(aggregation_.stars(), 2U);
  EXPECT_EQ(service_.reconnections(), 0U);
}

/// Its node has lost power: no word of that comes.
TEST_F(SilentClients, GoWhenTheirNodesAreGone) {
  ports_[0].set_mute(true);
  ports_[0].set_deaf(true);
  pass(3 * kMinute);
  EXPECT_EQ(aggregation_.clients(), 1U);
  EXPECT_EQ(aggregation_.stars(), 1U);
}

/// Its node's kernel answers for it.
TEST_F(SilentClients, GoWhenTheirProcessesDoNotRun) {
  members_[0].process().stand_still(true);
  pass(20 * kSecond);
  EXPECT_EQ(aggregation_.clients(), 2U) << "a machine may have too much to do";
  pass(3 * kMinute);
  EXPECT_EQ(aggregation_.clients(), 1U);
  EXPECT_EQ(aggregation_.stars(), 1U);
}

/// Whom the service has not heard for a while because it had nothing to say is not silent.
TEST_F(SilentClients, KeepTheirIdsWhileTheyLive) {
  pass(29 * kSecond);
  SimPort port(network_, {});
  RawClient thief(network_, port, 0, 1);
  network_.pass(200 * kMillisecond);
  EXPECT_TRUE(aggregation_.admit(thief.core().self(), Secret{1}, network_.now()));
  aggregation_.progress(network_.now());  // looks at once whether the client is silent
  pass(3 * kSecond);
  EXPECT_EQ(aggregation_.stars(), 2U);
  EXPECT_EQ(aggregation_.counts().refused, 1U);
}

}  // namespace
}  // namespace nezha::test
