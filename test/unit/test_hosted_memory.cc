// SPDX-License-Identifier: BSD-3-Clause
/// Communicators take turns in the memory of a service: none writes to it when its turn is over.
#include "raw_client.h"

#include <cstring>

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
  void begin(TeamId star) {
    StarDescription said;
    said.terms = {.members = 2, .window = 2, .type = NEZHA_FLOAT, .op = NEZHA_SUM};
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

}  // namespace
}  // namespace nezha::test
