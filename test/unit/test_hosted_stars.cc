// SPDX-License-Identifier: BSD-3-Clause
/// The aggregators of a tree, and processes around them that say what comes at unusual moments, or what cannot be.
#include "raw_client.h"

#include <cstring>

namespace nezha::test {
namespace {

constexpr TeamId kStar = 77, kOther = 78;
constexpr std::size_t kWindow = 2, kChunks = 4, kChunkBytes = kLeastChunk;
/// Two blocks of so many chunks each: chunks 2 and 4 have one slot, and their sums begin with different members.
constexpr std::size_t kBytes = 2 * kChunks * kChunkBytes;

StarDescription description(std::uint32_t position) {
  StarDescription said;
  said.terms = {.members = 2, .position = position, .window = kWindow, .type = NEZHA_FLOAT, .op = NEZHA_SUM};
  said.count = kBytes / sizeof(float);
  said.chunk = kChunkBytes;
  return said;
}

std::vector<std::byte> chunk_of(float value) {
  const std::vector<float> values(kChunkBytes / sizeof(float), value);
  std::vector<std::byte> bytes(kChunkBytes);
  std::memcpy(bytes.data(), values.data(), kChunkBytes);
  return bytes;
}

std::vector<std::byte> half_a_chunk() { return std::vector<std::byte>(kChunkBytes / 2); }

class Upstream : public testing::Test {
 protected:
  void SetUp() override {
    for (auto& rack : racks_) rack.greet(aggregation_, network_.now());
    pass(20 * kMillisecond);
    for (auto& rack : racks_) ASSERT_EQ(rack.trunk().lanes_up(), 1U);
  }

  void pass(Nanoseconds time, RawClient* other = nullptr) {
    for (const Nanoseconds until = network_.now() + time; network_.now() < until;) {
      network_.pass(50 * kMicrosecond);
      if (service_.turn()) aggregation_.progress(network_.now());
      for (auto& rack : racks_) rack.process().turn();
      if (other != nullptr) other->process().turn();
    }
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
    racks_[rack].say(star, 1, static_cast<std::uint16_t>(kStarPartial + have), chunk * kChunkBytes, chunk_of(1), kBytes);
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
  pass(20 * kMillisecond);
  EXPECT_EQ(aggregation_.counts().given_up, 0U);
  EXPECT_EQ(aggregation_.counts().bytes, kBytes);
}

/// The last rack of a chunk is the first one of the slot's next chunk.
TEST_F(Upstream, ASumForTheSlotsNextChunkComesFirst) {
  begin(kStar);
  for (std::size_t chunk : {0, 1}) add_up(kStar, chunk);
  send(kStar, 0, 1, 2);
  send(kStar, 1, 1, 4);
  EXPECT_TRUE(racks_[0].latest(kStar, kStarPartial + 1, 4 * kChunkBytes).empty()) << "the sum of the chunk before is not here";
  send(kStar, 1, 2, 2);
  EXPECT_FALSE(racks_[0].latest(kStar, kStarSum, 2 * kChunkBytes).empty());
  EXPECT_FALSE(racks_[0].latest(kStar, kStarPartial + 1, 4 * kChunkBytes).empty());
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

/// What is left of other vectors in the room for the other half is not passed on.
TEST_F(Upstream, HalfOfASumTwice) {
  begin(kStar);
  begin(kOther);
  for (int time = 0; time < 2; ++time) racks_[0].say(kStar, 1, kStarPartial + 1, 0, half_a_chunk(), kBytes);
  pass(kMillisecond);
  EXPECT_EQ(racks_[1].heard(kStar, kStarPartial + 1), 0U);
  expect_given_up(kStar);
}

/// By another lane, on which it goes again.
TEST_F(Upstream, ADescriptionThatComesAfterTheWordOfItsEnd) {
  racks_[0].trunk().tell_failed(kStar, 0, {});
  pass(kMillisecond);
  describe(kStar, 0);
  pass(kMillisecond);
  EXPECT_EQ(aggregation_.stars(), 0U);
  describe(kOther, 0);
  pass(kMillisecond);
  EXPECT_EQ(aggregation_.stars(), 1U);
}

/// The trunk remembers some of those that are gone, of which a rack may have more.
TEST_F(Upstream, SumsOfManyCommunicatorsThatAreGone) {
  begin(kOther);
  for (TeamId star = 1000; star < 1100; ++star) {
    racks_[0].say(star, 1, kStarPartial + 1, 0, std::vector<std::byte>(8 * 1024), 8 * 1024);
    pass(kMillisecond);
  }
  EXPECT_EQ(service_.reconnections(), 0U) << "a lane that other communicators use was closed";
  for (std::size_t chunk = 0; chunk < 2 * kChunks; ++chunk) add_up(kOther, chunk);
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

/// What a client says, without its lanes.
class Said : public Upstream {
 protected:
  void SetUp() override {
    ASSERT_TRUE(aggregation_.admit(address(), {}, network_.now()));
    ASSERT_EQ(aggregation_.clients(), 1U);
  }
  static Address address() {
    Address client;
    client.id = 3;
    client.job_rank = 0;
    client.node = "n3";
    client.rails = {{}};
    client.window = 256 * 1024;
    return client;
  }
  void say(TeamId star, std::span<const std::byte> bytes) {
    PieceHeader piece;
    piece.team = star;
    piece.op = 1;
    piece.step = kStarDescription;
    piece.length = static_cast<std::uint32_t>(bytes.size());
    EXPECT_TRUE(aggregation_.arrived(trunk_, piece, bytes.data()));
    aggregation_.progress(network_.now());
  }

  Log log_;
  Trunk trunk_{3, {}, {service_.core(), service_.core(), service_.core()}, network_, log_};
};

TEST_F(Said, NothingThatMakesSense) {
  const std::vector<std::byte> nonsense(kStarDescriptionSize, std::byte{0xff});
  for (TeamId star = 1; star <= 100; ++star) say(star, nonsense);
  EXPECT_EQ(aggregation_.clients(), 1U) << "it may not be its fault";
  for (TeamId star = 1; star <= 1000; ++star) say(star, nonsense);
  EXPECT_EQ(aggregation_.clients(), 0U);
}

/// It opens stars and breaks them, and does not acknowledge that it is told so.
TEST_F(Said, TheSameTwice) {
  const auto words = write_description(description(0));
  for (TeamId star = 1; star <= 1000; ++star) say(star, words), say(star, words);
  EXPECT_EQ(aggregation_.clients(), 1U);
  for (TeamId star = 1000; star <= 5000; ++star) say(star, words), say(star, words);
  EXPECT_EQ(aggregation_.clients(), 0U);
}

/// The aggregator of a rack with one member, between the two of which a test says what it likes.
class Rack : public testing::Test {
 protected:
  void SetUp() override {
    Peer* const upstream = upstream_.be_upstream(service_.core());
    ASSERT_NE(upstream, nullptr);
    service_.core().find_aggregators_by([upstream] { return std::vector<Peer*>{upstream}; });
    pass(20 * kMillisecond);
    member_.greet(aggregation_, network_.now());
    pass(20 * kMillisecond);
    member_.say(kStar, 1, kStarDescription, 0, write_description(description(0)), kBytes);
    pass(2 * kMillisecond);
    ASSERT_EQ(upstream_.heard(kStar, kStarDescription), 1U);
    upstream_.say(kStar, 1, kStarAnswer, 0, write_description(description(0)), kBytes);
    pass(2 * kMillisecond);
    ASSERT_EQ(member_.heard(kStar, kStarAnswer), 1U);
  }

  void pass(Nanoseconds time) {
    for (const Nanoseconds until = network_.now() + time; network_.now() < until;) {
      network_.pass(50 * kMicrosecond);
      service_.turn();
      aggregation_.progress(network_.now());
      for (RawClient* client : {&upstream_, &member_}) client->process().turn();
    }
  }
  void send(RawClient& from, int step, std::size_t chunk, float value) {
    from.say(kStar, 1, static_cast<std::uint16_t>(step), chunk * kChunkBytes, chunk_of(value), kBytes);
    pass(kMillisecond);
  }
  /// Of the first block, whose sums the member begins.
  void add_up(std::size_t chunk) {
    send(member_, kStarContribution, chunk, 1);
    EXPECT_EQ(upstream_.latest(kStar, kStarPartial + 1, chunk * kChunkBytes), chunk_of(1));
    send(upstream_, kStarSum, chunk, 3);
    EXPECT_EQ(member_.latest(kStar, kStarSum, chunk * kChunkBytes), chunk_of(3));
  }

  SimNetwork network_{{.segment = 4096}, 1};
  std::array<SimPort, 3> ports_{{{network_, {}}, {network_, {}}, {network_, {}}}};
  RawProcess service_{network_, ports_[0], kNoRank, 1000};
  Aggregation aggregation_{service_.core(), Secret{}, Aggregation::Limits{}, true};
  RawClient upstream_{network_, ports_[1], kNoRank, 1}, member_{network_, ports_[2], 0, 2};
};

TEST_F(Rack, AddsUpBetweenTheOthers) {
  for (std::size_t chunk = 0; chunk < kChunks; ++chunk) add_up(chunk);
  for (std::size_t chunk = kChunks; chunk < 2 * kChunks; ++chunk) {
    send(upstream_, kStarPartial + 1, chunk, 2);
    send(member_, kStarContribution, chunk, 1);
    EXPECT_EQ(upstream_.latest(kStar, kStarPartial + 2, chunk * kChunkBytes), chunk_of(3));
    EXPECT_EQ(member_.latest(kStar, kStarSum, chunk * kChunkBytes), chunk_of(3));
  }
  EXPECT_EQ(aggregation_.counts().given_up, 0U);
}

/// Another rack has the final sum already.
TEST_F(Rack, ASumForTheSlotsNextChunkComesFirst) {
  for (std::size_t chunk : {0, 1}) add_up(chunk);
  send(member_, kStarContribution, 2, 1);
  send(upstream_, kStarPartial + 1, 4, 2);
  send(upstream_, kStarSum, 2, 3);
  EXPECT_EQ(member_.latest(kStar, kStarSum, 2 * kChunkBytes), chunk_of(3));
  add_up(3);
  send(member_, kStarContribution, 4, 1);
  EXPECT_EQ(upstream_.latest(kStar, kStarPartial + 2, 4 * kChunkBytes), chunk_of(3));
  EXPECT_EQ(aggregation_.counts().given_up, 0U);
}

TEST_F(Rack, ASumOfContributionsThatAreItsOwn) {
  send(upstream_, kStarPartial + 1, 0, 2);
  EXPECT_EQ(aggregation_.counts().given_up, 1U);
  EXPECT_TRUE(member_.told_failed(kStar) && upstream_.told_failed(kStar));
  EXPECT_EQ(service_.reconnections(), 0U) << "a lane that other communicators use was closed";
  EXPECT_EQ(aggregation_.clients(), 1U);
}

TEST_F(Rack, HalfOfAContributionTwice) {
  for (int time = 0; time < 2; ++time) member_.say(kStar, 1, kStarContribution, 0, half_a_chunk(), kBytes);
  pass(kMillisecond);
  EXPECT_EQ(upstream_.heard(kStar, kStarPartial + 1), 0U);
}

TEST_F(Rack, HalfOfASumTwice) {
  send(member_, kStarContribution, 0, 1);
  for (int time = 0; time < 2; ++time) upstream_.say(kStar, 1, kStarSum, 0, half_a_chunk(), kBytes);
  pass(kMillisecond);
  EXPECT_EQ(member_.heard(kStar, kStarSum), 0U);
  EXPECT_EQ(aggregation_.counts().given_up, 1U);
}

TEST_F(Rack, HalfOfASumOfOthersTwice) {
  for (std::size_t chunk = 0; chunk < kChunks; ++chunk) add_up(chunk);
  for (int time = 0; time < 2; ++time)
    upstream_.say(kStar, 1, kStarPartial + 1, kChunks * kChunkBytes, half_a_chunk(), kBytes);
  send(member_, kStarContribution, kChunks, 1);
  EXPECT_EQ(upstream_.heard(kStar, kStarPartial + 2), 0U);
  EXPECT_EQ(aggregation_.counts().given_up, 1U);
}

TEST_F(Rack, AFinalSumBeforeTheMembersHaveContributed) {
  send(upstream_, kStarSum, 0, 3);
  EXPECT_EQ(aggregation_.counts().given_up, 1U);
  EXPECT_EQ(member_.heard(kStar, kStarSum), 0U);
}

}  // namespace
}  // namespace nezha::test
