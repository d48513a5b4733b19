// SPDX-License-Identifier: BSD-3-Clause
/// Small calls through a service to which, or to whose members, something happens at one place of the protocol; and what the
/// service makes of members that do not keep to it.
#include "star_cluster.h"

#include "engine/aggregation/star.h"

namespace nezha::test {
namespace {

constexpr nezha_type_t kNone = NEZHA_TYPE_OTHER;

TEST(SmallCalls, GoThroughTheService) {
  StarCluster cluster(3);
  ASSERT_TRUE(cluster.join());
  const std::uint64_t before = cluster.service().counts().operations;
  for (int call = 0; call < 10; ++call) ASSERT_TRUE(cluster.call());
  EXPECT_GE(cluster.service().counts().operations, before + 9);
  EXPECT_EQ(cluster.service().memory(), 0U);
}

TEST(SmallCalls, LeaveTheServiceNothingToLookAt) {
  StarCluster cluster(3);
  ASSERT_TRUE(cluster.join());
  cluster.idle(20 * kMillisecond);
  EXPECT_EQ(cluster.service().stars(), 1U);
  EXPECT_EQ(cluster.service().attended(), 0U);
  const std::uint64_t before = cluster.service().counts().operations;
  ASSERT_TRUE(cluster.call());
  EXPECT_EQ(cluster.service().counts().operations, before + 1);
}

/// Types of one signature may differ from rank to rank, and with them whether there is a kernel.
TEST(SmallCalls, GoOverTheRailsWhereARankLacksAKernel) {
  StarCluster cluster(3);
  for (int call = 0; call < 10; ++call) ASSERT_TRUE(cluster.call({NEZHA_FLOAT, kNone, NEZHA_FLOAT})) << call;
  EXPECT_EQ(cluster.service().counts().operations, 0U);
}

TEST(SmallCalls, EndWhereARankLacksAKernelFromThenOn) {
  StarCluster cluster(3);
  ASSERT_TRUE(cluster.join());
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(cluster.call());
  const std::uint64_t before = cluster.service().counts().operations;
  for (int call = 0; call < 30; ++call) ASSERT_TRUE(cluster.call({NEZHA_FLOAT, NEZHA_FLOAT, kNone})) << call;
  EXPECT_EQ(cluster.service().counts().operations, before);
  EXPECT_LE(cluster.joined(), 2U) << "then all know that it lacks one";
}

TEST(SmallCalls, DoNotTryAServiceAgainThatStandsStill) {
  StarCluster cluster(3);
  ASSERT_TRUE(cluster.join());
  cluster.stop_service(true);
  const Nanoseconds began = cluster.network().now();
  for (int call = 0; call < 200; ++call) ASSERT_TRUE(cluster.call()) << call;
  EXPECT_EQ(cluster.joined(), 1U);
  EXPECT_LT(cluster.network().now() - began, 2 * kSecond) << "one call has waited for it";
  cluster.stop_service(false);
  EXPECT_TRUE(cluster.join(2));
}

/// A service that stands still again and again is tried ever more rarely.
TEST(SmallCalls, TrustAServiceOnceManyHaveGoneThroughIt) {
  StarCluster cluster(2);
  ASSERT_TRUE(cluster.join());
  std::size_t calls = 0;
  for (std::size_t times = 2; times <= 6; ++times) {
    cluster.stop_service(true);
    for (int call = 0; call < 3; ++call) ASSERT_TRUE(cluster.call());
    cluster.stop_service(false);
    for (calls = 0; cluster.joined() < times && calls < 200; ++calls) ASSERT_TRUE(cluster.call());
    ASSERT_EQ(cluster.joined(), times);
  }
  EXPECT_GE(calls, 20U);
}

/// It returned from the last call, and others have no sum yet: the service sent them none.
TEST(SmallCalls, GetWhatTheyNeedOfAMemberThatHasLeft) {
  StarCluster cluster(3);
  ASSERT_TRUE(cluster.join());
  for (const int rank : {1, 2}) cluster.network().block(cluster.service_port(), cluster.port(rank), true);
  for (const int rank : {0, 1, 2}) cluster.begin(rank);
  ASSERT_TRUE(cluster.drive([&] { return cluster.over(0); }));
  ASSERT_FALSE(cluster.over(1) || cluster.over(2));
  cluster.destroy_team(0);
  cluster.kill_service();
  ASSERT_TRUE(cluster.drive([&] { return cluster.over(1) && cluster.over(2); }));
  EXPECT_TRUE(cluster.right(1) && cluster.right(2));
  EXPECT_TRUE(cluster.drive([&] { return cluster.core(0).parting() == 0; }));
}

TEST(SmallCalls, AreNotKeptForeverForAMemberThatIsDead) {
  StarCluster cluster(3);
  ASSERT_TRUE(cluster.join());
  ASSERT_TRUE(cluster.call());
  cluster.kill(2);
  cluster.idle(10 * kMillisecond);
  cluster.destroy_team(0);
  EXPECT_EQ(cluster.core(0).parting(), 1U);
  cluster.idle(StarCluster::kTimeout * kSecond + kSecond);
  EXPECT_EQ(cluster.core(0).parting(), 0U);
}

// ---- members that do not keep to the protocol

/// One member's side of a star of two, by hand.
class ByHand {
 public:
  ByHand(StarCluster& cluster, TeamId id, int rank, int position)
      : network_(cluster.network()), star_(id, &cluster.trunk(rank), {2, position, 64 * 1024, &cluster.core(rank).buffer_pool()}) {}
  ~ByHand() { star_.give_up("the test is over"); }
  void begin() {
    Call call;
    call.send = vector_.data();
    call.recv = sum_.data();
    call.count = vector_.size() / sizeof(float);
    call.element = sizeof(float);
    call.star.type = NEZHA_FLOAT;
    call.star.op = NEZHA_SUM;
    star_.begin_whole(call, network_.now());
  }

 private:
  SimNetwork& network_;
  std::vector<std::byte> vector_ = std::vector<std::byte>(kLargestWhole), sum_ = vector_;
  Star star_;
};

class Protocol : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster.join()); }
  /// The service has given up one star, and serves those of others.
  void expect_given_up() {
    cluster.idle(10 * kMillisecond);
    EXPECT_EQ(cluster.service().counts().given_up, 1U);
    for (int call = 0; call < 5; ++call) EXPECT_TRUE(cluster.call());
    EXPECT_EQ(cluster.joined(), 1U);
    EXPECT_EQ(cluster.service().memory(), 0U);
  }

  void expect_all_goes_on() {
    cluster.idle(10 * kMillisecond);
    EXPECT_EQ(cluster.service().counts().given_up, 0U);
    for (int call = 0; call < 5; ++call) EXPECT_TRUE(cluster.call());
    EXPECT_EQ(cluster.joined(), 1U);
  }

  StarCluster cluster{3};
};

TEST_F(Protocol, AMemberDescribesAnOperationTwiceBeforeItBegins) {
  ByHand once(cluster, 77, 0, 0), twice(cluster, 77, 0, 0);
  once.begin();
  cluster.idle(kMillisecond);
  twice.begin();
  expect_given_up();
}

TEST_F(Protocol, AMemberDescribesAnOperationTwiceOnceItIsOver) {
  ByHand once(cluster, 77, 0, 0), other(cluster, 77, 1, 1), twice(cluster, 77, 0, 0);
  once.begin();
  other.begin();
  cluster.idle(20 * kMillisecond);
  twice.begin();
  expect_all_goes_on();
}

TEST_F(Protocol, TwoMembersAreTheSameOne) {
  ByHand one(cluster, 77, 0, 0), other(cluster, 77, 1, 0);
  one.begin();
  cluster.idle(kMillisecond);
  other.begin();
  expect_all_goes_on();  // who is no member cannot end a star
}

/// Whoever has opened them.
TEST_F(Protocol, AMemberIsInMoreStarsThanItMayBe) {
  Aggregation::Limits limits;
  limits.stars = 2;  // one is the team's
  cluster.service().change(Secret{}, limits);
  const std::uint64_t before = cluster.service().counts().operations;
  ByHand opens(cluster, 77, 0, 0), joins(cluster, 77, 1, 1), opens_another(cluster, 78, 2, 0);
  for (ByHand* one : {&opens, &joins, &opens_another}) one->begin();
  cluster.idle(20 * kMillisecond);
  EXPECT_EQ(cluster.service().counts().operations, before + 1);
  {
    ByHand joins_another(cluster, 78, 1, 1);
    joins_another.begin();
    cluster.idle(20 * kMillisecond);
    EXPECT_EQ(cluster.service().counts().operations, before + 1);
  }
  EXPECT_EQ(cluster.service().stars(), 3U);
}

TEST_F(Protocol, AMemberIsInOneStarAfterAnother) {
  Aggregation::Limits limits;
  limits.stars = 2;
  cluster.service().change(Secret{}, limits);
  for (TeamId id = 100; id < 110; ++id) {
    cluster.idle(20 * kMillisecond);
    const std::uint64_t before = cluster.service().counts().operations;
    ByHand one(cluster, id, 0, 0), other(cluster, id, 1, 1);
    for (ByHand* each : {&one, &other}) each->begin();
    cluster.idle(20 * kMillisecond);
    EXPECT_EQ(cluster.service().counts().operations, before + 1);
  }
}

/// What waits at the service for other members would else use up the window that the team's description needs.
TEST_F(Protocol, ContributionsThatWaitLeaveRoomForOthers) {
  std::vector<std::unique_ptr<ByHand>> waiting;
  for (TeamId id = 100; id < 100 + 2 * StarCluster::kFilling; ++id) {
    waiting.push_back(std::make_unique<ByHand>(cluster, id, 0, 0));
    waiting.back()->begin();
  }
  cluster.idle(10 * kMillisecond);
  const std::uint64_t before = cluster.service().counts().operations;
  for (int call = 0; call < 5; ++call) EXPECT_TRUE(cluster.call());
  EXPECT_GE(cluster.service().counts().operations, before + 4);
  EXPECT_EQ(cluster.joined(), 1U);
}

}  // namespace
}  // namespace nezha::test
