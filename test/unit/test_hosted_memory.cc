// SPDX-License-Identifier: BSD-3-Clause
/// Communicators take turns in the memory of a service: none writes to it when its turn is over.
#include "raw_client.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace nezha::test {
namespace {

constexpr TeamId kStar = 77, kOther = 78;
constexpr std::size_t kChunkBytes = 64 * 1024;
/// Two blocks of one chunk each.
constexpr std::size_t kBytes = 2 * kChunkBytes;

std::vector<std::byte> chunk_of(float value) {
  const std::vector<float> values(kChunkBytes / sizeof(float), value);
  std::vector<std::byte> bytes(kChunkBytes);
  std::memcpy(bytes.data(), values.data(), kChunkBytes);
  return bytes;
}

/// Many members of one communicator, without lanes.
class Crowd : public testing::Test {
 protected:
  static constexpr std::uint32_t kMembers = 171;

  void SetUp() override {
    for (std::uint32_t rank = 0; rank < kMembers; ++rank) {
      Address client;
      client.id = rank + 1;
      client.job_rank = rank;
      client.node = "n" + std::to_string(rank);
      client.rails = {{}};
      client.window = 256 * 1024;
      ASSERT_TRUE(aggregation_.admit(client, {}, network_.now()));
    }
  }
  void describe(std::uint32_t window) {
    StarDescription said;
    said.terms = {.members = kMembers, .window = window, .type = NEZHA_FLOAT, .op = NEZHA_SUM};
    said.count = std::size_t{16} << 20;
    said.chunk = kChunkBytes;
    PieceHeader piece;
    piece.team = kStar;
    piece.op = 1;
    piece.step = kStarDescription;
    piece.length = kStarDescriptionSize;
    for (; said.terms.position < kMembers; ++said.terms.position) {
      Trunk trunk{said.terms.position + 1, {}, {service_.core(), service_.core(), service_.core()}, network_, log_};
      EXPECT_TRUE(aggregation_.arrived(trunk, piece, write_description(said).data()));
    }
    aggregation_.progress(network_.now());
  }
  std::size_t lines_with(const std::string& words) const {
    return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    }));
  }

  std::vector<std::string> lines_;
  Log log_;
  SimNetwork network_{{.segment = 4096}, 1};
  SimPort port_{network_, {}};
  RawProcess service_{network_, port_, kNoRank, 1000,
                      Log([](void* lines, int, const char* line) { static_cast<std::vector<std::string>*>(lines)->emplace_back(line); },
                          &lines_, 1)};
  Aggregation aggregation_{service_.core(), Secret{}, Aggregation::Limits{}};
};

TEST_F(Crowd, HasRoomInOneService) {
  describe(star_window(kMembers, kChunkBytes));
  EXPECT_TRUE(aggregation_.busy());
  EXPECT_EQ(aggregation_.counts().given_up, 0U);
}

TEST_F(Crowd, HearsThatThereIsNoMemory) {
  for (int time = 0; time < 5; ++time) describe(24);
  EXPECT_EQ(aggregation_.counts().given_up, 5U);
  EXPECT_EQ(lines_with("no memory"), 3U) << "the first, the second and the fourth time";
}

/// Nothing of it is left, and the service goes on.
TEST_F(Crowd, IsGivenUpWhereTheSystemRefusesMemory) {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit little{pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{64} << 20), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  EXPECT_NO_THROW(describe(star_window(kMembers, kChunkBytes)));
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(aggregation_.counts().given_up, 1U);
  EXPECT_EQ(aggregation_.memory(), 0U);
  EXPECT_FALSE(aggregation_.busy());
  EXPECT_EQ(lines_with("the system refuses memory"), 1U);
  describe(star_window(kMembers, kChunkBytes));
  EXPECT_TRUE(aggregation_.busy());
}

TEST(StarWindow, FitsWhatAServiceGivesACommunicator) {
  EXPECT_EQ(star_window(2, kChunkBytes), star_window(32, kChunkBytes)) << "few members need no such care";
  for (std::uint32_t members = 2; members <= kMostStarMembers; ++members) {
    StarDescription said;
    said.terms = {.members = members, .window = star_window(members, kChunkBytes)};
    said.chunk = kChunkBytes;
    ASSERT_GE(said.terms.window, 2U);
    ASSERT_LE(said.memory(members), Aggregation::Limits{}.star) << members;
  }
}

/// A service and two members, each with two rails.
class Turns : public testing::Test {
 protected:
  void SetUp() override {
    for (auto& member : members_) member.greet(aggregation_, network_.now());
    pass(20 * kMillisecond);
    for (auto& member : members_) ASSERT_EQ(member.trunk().lanes_up(), 2U);
  }
  void pass(Nanoseconds time) {
    for (const Nanoseconds until = network_.now() + time; network_.now() < until;) {
      network_.pass(50 * kMicrosecond);
      service_.turn();
      aggregation_.progress(network_.now());
      for (auto& member : members_) member.process().turn();
    }
  }
  void begin(TeamId star, std::uint32_t window = 2) {
    StarDescription said;
    said.terms = {.members = 2, .window = window, .type = NEZHA_FLOAT, .op = NEZHA_SUM};
    said.count = kBytes / sizeof(float);
    said.chunk = kChunkBytes;
    for (auto& member : members_) {
      member.say(star, 1, kStarDescription, 0, write_description(said), kBytes, kFast);
      said.terms.position += 1;
    }
    pass(2 * kMillisecond);
  }
  void contribute(TeamId star, int member, std::size_t chunk, float value, RailSet rails) {
    members_[member].say(star, 1, kStarContribution, chunk * kChunkBytes, chunk_of(value), kBytes, rails);
    pass(2 * kMillisecond);
  }

  static constexpr RailSet kFast = 1, kSlow = 2;

  SimNetwork network_{{.segment = 4096}, 1};
  SimPort service_0_{network_, {}}, service_1_{network_, {.name = "sim1", .network = 1}};
  SimPort first_0_{network_, {}}, first_1_{network_, {.name = "sim1", .network = 1}};
  SimPort second_0_{network_, {}}, second_1_{network_, {.name = "sim1", .network = 1}};
  RawProcess service_{network_, {&service_0_, &service_1_}, kNoRank, 1000};
  Aggregation aggregation_{service_.core(), Secret{}, Aggregation::Limits{}};
  std::array<RawClient, 2> members_{{{network_, {&first_0_, &first_1_}, 0, 1}, {network_, {&second_0_, &second_1_}, 1, 2}}};
};

TEST_F(Turns, AContributionThatComesTwiceDoesNotGoToAnother) {
  begin(kStar);
  first_1_.set_rate(0.002);
  contribute(kStar, 0, 0, 1, kSlow);
  contribute(kStar, 0, 0, 1, kFast);
  for (const std::size_t chunk : {0, 1}) contribute(kStar, 1, chunk, 1, kFast);
  contribute(kStar, 0, 1, 1, kFast);
  pass(4 * kMillisecond);
  ASSERT_EQ(aggregation_.counts().operations, 1U) << "its turn is over";
  begin(kOther);
  contribute(kOther, 0, 0, 2, kFast);
  pass(40 * kMillisecond);
  contribute(kOther, 1, 0, 2, kFast);
  pass(4 * kMillisecond);
  const std::vector<std::byte> sum = members_[1].latest(kOther, kStarSum, 0), all = chunk_of(4);
  ASSERT_FALSE(sum.empty());
  EXPECT_EQ(sum, std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(sum.size())));
  EXPECT_EQ(aggregation_.counts().given_up, 0U);
}

/// Between operations they have memory too: with a window of 24 chunks some 12 KiB each beside 16 KiB.
TEST_F(Turns, CommunicatorsThatAreIdleCount) {
  aggregation_.change(Secret{}, {.memory = 5 << 20, .stars = 1000});
  for (TeamId star = 100; star < 350; ++star) {
    begin(star, 24);
    for (int member : {0, 1})
      for (const std::size_t chunk : {0, 1}) contribute(star, member, chunk, 1, kFast);
  }
  EXPECT_GT(aggregation_.stars(), 100U);
  EXPECT_LT(aggregation_.stars(), 200U);
  EXPECT_EQ(aggregation_.counts().operations, aggregation_.stars());
}

}  // namespace
}  // namespace nezha::test
