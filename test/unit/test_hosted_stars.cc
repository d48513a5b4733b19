// SPDX-License-Identifier: BSD-3-Clause
/// What the upstream aggregator of a tree makes of racks that do not keep to the protocol, and of somebody who takes another's name.
#include "raw_client.h"

namespace nezha::test {
namespace {

constexpr TeamId kStar = 77, kOther = 78;
constexpr std::size_t kWindow = 2, kChunks = 4, kChunkBytes = kLeastChunk;
/// Two blocks of so many chunks each.
constexpr std::size_t kBytes = 2 * kChunks * kChunkBytes;

class Upstream : public testing::Test {
 protected:
  void SetUp() override {
    for (auto& rack : racks_) rack.greet(aggregation_, network_.now());
    pass(20 * kMillisecond);
    for (auto& rack : racks_) ASSERT_EQ(rack.trunk().lanes_up(), 1U);
  }

  void pass(Nanoseconds time, RawClient* other = nullptr) {
    for (const Nanoseconds until = network_.now() + time; network_.now() < until;) {
      const Nanoseconds next = network_.now() + 50 * kMicrosecond;
      network_.after(50 * kMicrosecond, [] {});
      while (network_.next() <= next) network_.step();
      if (service_.turn()) aggregation_.progress(network_.now());
      for (auto& rack : racks_) rack.process().turn();
      if (other != nullptr) other->process().turn();
    }
  }

  StarDescription description(std::uint32_t position) const {
    StarDescription said;
    said.terms = {.members = 2, .position = position, .window = kWindow, .type = NEZHA_FLOAT, .op = NEZHA_SUM};
    said.count = kBytes / sizeof(float);
    said.chunk = kChunkBytes;
    return said;
  }
  /// Each rack has the contribution of one member.
  void describe(TeamId star, int rack) {
    racks_[rack].say(star, 1, kStarDescription, 0, write_description(description(static_cast<std::uint32_t>(rack))), kBytes);
  }
  void begin(TeamId star) {
    for (int rack : {0, 1}) describe(star, rack);
    pass(2 * kMillisecond);
    for (auto& rack : racks_) ASSERT_EQ(rack.heard(star, kStarAnswer), 1U);
  }
  void send(TeamId star, int rack, int have, std::size_t chunk) {
    const std::vector<std::byte> sum(kChunkBytes);
    racks_[rack].say(star, 1, static_cast<std::uint16_t>(kStarPartial + have), chunk * kChunkBytes, sum, kBytes);
    pass(kMillisecond);
  }
  /// A sum of both racks, which the first one of them begins.
  void add_up(TeamId star, std::size_t chunk) {
    const int first = chunk < kChunks ? 0 : 1;
    const std::size_t before = racks_[first].heard(star, kStarSum);
    send(star, first, 1, chunk);
    send(star, 1 - first, 2, chunk);
    EXPECT_EQ(racks_[first].heard(star, kStarSum), before + 1);
  }
  /// It is given up, and nothing else is.
  void expect_given_up(TeamId star) {
    EXPECT_EQ(aggregation_.counts().given_up, 1U);
    EXPECT_TRUE(racks_[0].told_failed(star) && racks_[1].told_failed(star));
    EXPECT_EQ(service_.reconnections(), 0U) << "a lane that other communicators use was closed";
    for (std::size_t chunk = 0; chunk < 2 * kChunks; ++chunk) add_up(kOther, chunk);
    EXPECT_EQ(aggregation_.counts().given_up, 1U);
  }

  SimNetwork network_{{.segment = 4096}, 1};
  std::array<SimPort, 4> ports_{{{network_, {}}, {network_, {}}, {network_, {}}, {network_, {}}}};
  RawProcess service_{network_, ports_[2], kNoRank, 1000};
  Aggregation aggregation_{service_.core(), Secret{}, Aggregation::Limits{}};
  std::array<RawClient, 2> racks_{{{network_, ports_[0], kNoRank, 1}, {network_, ports_[1], kNoRank, 2}}};
};

TEST_F(Upstream, PassesSumsOn) {
  begin(kStar);
  for (std::size_t chunk = 0; chunk < 2 * kChunks; ++chunk) add_up(kStar, chunk);
  EXPECT_EQ(aggregation_.counts().given_up, 0U);
}

TEST_F(Upstream, ASumOfContributionsThatOtherRacksHave) {
  begin(kStar);
  begin(kOther);
  send(kStar, 0, 2, 0);
  expect_given_up(kStar);
}

TEST_F(Upstream, ASumOfAChunkThatIsFarFromDue) {
  begin(kStar);
  begin(kOther);
  send(kStar, 0, 1, 2 * kWindow);
  expect_given_up(kStar);
}

/// The sum of the slot's chunk before is on its way to the other rack from where this one would go.
TEST_F(Upstream, ASumOfTheNextChunkFromARackThatLacksTheOneBefore) {
  begin(kStar);
  begin(kOther);
  send(kStar, 0, 1, 0);
  send(kStar, 0, 1, kWindow);
  expect_given_up(kStar);
}

TEST_F(Upstream, MoreCommunicatorsThanThereIsMemoryFor) {
  begin(kOther);
  Aggregation::Limits limits;
  limits.memory = 1 << 20;
  aggregation_.change(Secret{}, limits);
  StarDescription of_many = description(0);
  of_many.terms.members = kMostStarMembers;
  for (TeamId star = 100; star < 120; ++star) racks_[0].say(star, 1, kStarDescription, 0, write_description(of_many), kBytes);
  pass(10 * kMillisecond);
  EXPECT_LT(aggregation_.stars(), 6U);
  EXPECT_TRUE(racks_[0].told_failed(119));
  EXPECT_FALSE(racks_[0].told_failed(100));
  for (std::size_t chunk = 0; chunk < 2 * kChunks; ++chunk) add_up(kOther, chunk);
}

/// A rack tells its clients its id.
TEST_F(Upstream, SomebodyHasTheIdOfARack) {
  begin(kStar);
  RawClient thief(network_, ports_[3], kNoRank, 1);
  thief.greet(aggregation_, network_.now(), Secret{1});
  pass(3 * kSecond, &thief);
  EXPECT_EQ(thief.trunk().lanes_up(), 0U);
  EXPECT_EQ(aggregation_.counts().refused, 1U);
  for (std::size_t chunk = 0; chunk < 2 * kChunks; ++chunk) add_up(kStar, chunk);
  EXPECT_EQ(aggregation_.counts().given_up, 0U);
}

/// It was cut off, which the service has not noticed.
TEST_F(Upstream, ARackThatComesBackGetsItsPlace) {
  racks_[0].process().stand_still(true);
  RawClient back(network_, ports_[3], kNoRank, 1);
  back.greet(aggregation_, network_.now(), Secret{1});
  for (int step = 0; step < 30 && back.trunk().lanes_up() == 0; ++step) pass(100 * kMillisecond, &back);
  EXPECT_EQ(back.trunk().lanes_up(), 1U);
  EXPECT_EQ(aggregation_.clients(), 2U);
}

}  // namespace
}  // namespace nezha::test
