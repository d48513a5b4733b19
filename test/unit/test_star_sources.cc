// SPDX-License-Identifier: BSD-3-Clause
/// What an aggregator of a tree has sent lies where later sums go. Who answers it has it, whether or not that is acknowledged: from
/// then on no lane may read it any more. Here nobody acknowledges anything.
#include <cstring>

#include "alg/algorithm.h"
#include "alg/star_fold.h"
#include "raw_client.h"

namespace nezha::test {
namespace {

constexpr std::size_t kChunkBytes = kLeastChunk, kWindow = 2;
/// Two chunks in each block, so that chunks 0, 2 and 4 have one slot, and each begins with another member.
constexpr std::size_t kMembers = 3, kBytes = kMembers * 2 * kChunkBytes;

/// Lanes to clients that are silent once these are up, and flows to them.
class Sources : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t client = 0; client < trunks_.size(); ++client)
      trunks_[client] = clients_[client].be_upstream(service_.core())->trunk.get();
    for (const Nanoseconds until = network_.now() + 20 * kMillisecond; network_.now() < until;) {
      network_.pass(50 * kMicrosecond);
      service_.process().turn();
      for (auto& client : clients_) client.process().turn();
    }
    for (const Trunk* trunk : trunks_) ASSERT_EQ(trunk->lanes_up(), 1U);
    for (Flow& flow : flows_) {
      flow.open(77, 1, kStarGrain);
      flow.begun = true;
    }
  }
  void TearDown() override {
    for (std::size_t client = 0; client < trunks_.size(); ++client) trunks_[client]->abort_flow(flows_[client]);
  }

  Call call(StarTier tier, std::span<const int> holders, StarFold* fold = nullptr) const {
    Call made;
    made.count = kBytes / sizeof(float);
    made.element = sizeof(float);
    made.chunk = kChunkBytes;
    made.star = {.members = kMembers, .window = kWindow, .type = NEZHA_FLOAT, .op = NEZHA_SUM};
    made.star.tier = tier;
    made.star.holders = holders;
    made.star.fold = fold;
    made.reducer = {find_kernel(NEZHA_FLOAT, NEZHA_SUM), nullptr, nullptr, nullptr, sizeof(float)};
    return made;
  }
  /// Of an operation with so many of the clients, from that one on.
  TeamView view(std::size_t first, std::size_t count, int position, std::span<const int> neighbours, std::span<const int> numbers) {
    TeamView made;
    made.size = static_cast<int>(count) + 1;
    made.position = position;
    made.flows = std::span(flows_).subspan(first, count);
    made.trunks = std::span(trunks_).subspan(first, count);
    made.neighbours = neighbours;
    made.numbers = numbers;
    made.buffers = &service_.core().buffer_pool();
    return made;
  }
  /// Chunks that lanes to the client may read.
  std::size_t read_for(std::size_t client) const { return flows_[client].unacked / kChunkBytes; }

  static PieceHeader piece(int step, std::size_t chunk) {
    PieceHeader made;
    made.step = static_cast<std::uint16_t>(step);
    made.length = kChunkBytes;
    made.offset = chunk * kChunkBytes;
    return made;
  }
  /// It is about to be written to its place.
  static void begins(Algorithm& algorithm, int from, const PieceHeader& header) {
    const Placement placed = algorithm.place(from, header);
    ASSERT_TRUE(placed.kind == PlaceKind::direct && placed.overwrites);
    algorithm.arriving(from, header);
  }
  static void comes(Algorithm& algorithm, int from, int step, std::size_t chunk) {
    const PieceHeader header = piece(step, chunk);
    const Placement placed = algorithm.place(from, header);
    ASSERT_EQ(placed.kind, PlaceKind::direct);
    std::memset(placed.where, 0, kChunkBytes);
    ASSERT_TRUE(algorithm.arrived(from, header, placed.where));
  }

  SimNetwork network_{{.segment = 4096}, 1};
  std::array<SimPort, 4> ports_{{{network_, {}}, {network_, {}}, {network_, {}}, {network_, {}}}};
  std::array<Flow, 3> flows_;
  RawClient service_{network_, ports_[3], kNoRank, 1000};
  std::array<RawClient, 3> clients_{
      {{network_, ports_[0], kNoRank, 1}, {network_, ports_[1], kNoRank, 2}, {network_, ports_[2], kNoRank, 3}}};
  std::array<Trunk*, 3> trunks_{};
};

/// The first rack has the contributions of the first member and of the last one.
TEST_F(Sources, OfTheUpstreamAggregator) {
  constexpr std::array<int, kMembers> kHolders = {0, 1, 0};
  constexpr std::array<int, 2> kNeighbours = {0, 1};
  constexpr std::array<int, 3> kNumbers = {0, 1, -1};
  const TeamView racks = view(0, 2, 2, kNeighbours, kNumbers);
  const auto upstream = make_star_upstream(racks);
  upstream->begin(call(StarTier::upstream, kHolders));

  comes(*upstream, 0, kStarPartial + 1, 0);
  EXPECT_EQ(read_for(1), 1U);
  begins(*upstream, 1, piece(kStarPartial + 2, 0));
  EXPECT_EQ(read_for(1), 0U) << "it has added to what it was sent";
  comes(*upstream, 1, kStarPartial + 2, 0);
  EXPECT_EQ(read_for(0), 1U);
  begins(*upstream, 0, piece(kStarPartial + 3, 0));
  EXPECT_EQ(read_for(0), 0U) << "it has added to what it was sent";
  comes(*upstream, 0, kStarPartial + 3, 0);
  EXPECT_EQ(read_for(1), 1U);
  begins(*upstream, 1, piece(kStarPartial + 1, 2));
  EXPECT_EQ(read_for(1), 0U) << "it has the final sum of the slot's chunk before";
  upstream->end();
}

/// Another rack has the contribution of the second member.
TEST_F(Sources, OfTheAggregatorOfARack) {
  constexpr std::array<int, kMembers> kHolders = {0, -1, 1};
  constexpr std::array<int, 1> kUpNeighbours = {1};
  constexpr std::array<int, 2> kNeighbours = {0, 1}, kUpNumbers = {-1, 0};
  constexpr std::array<int, 3> kNumbers = {0, 1, -1};
  constexpr std::size_t kUpstream = 2;
  const TeamView up = view(kUpstream, 1, 0, kUpNeighbours, kUpNumbers), down = view(0, 2, 2, kNeighbours, kNumbers);
  StarFold fold;
  const auto climb = make_star_climb(up), rack = make_star_center(down);
  climb->begin(call(StarTier::climb, kHolders, &fold));
  PieceHeader answer;
  answer.step = kStarAnswer;
  answer.length = kStarDescriptionSize;
  ASSERT_TRUE(climb->arrived(kStarCenter, answer, nullptr));
  rack->begin(call(StarTier::rack, kHolders, &fold));

  // Its members are the first and the last one to add to chunk 0.
  comes(*rack, 0, kStarContribution, 0);
  EXPECT_EQ(read_for(kUpstream), 1U);
  comes(*climb, kStarCenter, kStarPartial + 2, 0);
  comes(*rack, 1, kStarContribution, 0);
  EXPECT_EQ(read_for(kUpstream), 1U) << "another rack has added to what was sent up before: the final sum alone is on its way";
  EXPECT_EQ(read_for(1), 1U);

  // To chunk 2 both add at the end.
  comes(*climb, kStarCenter, kStarPartial + 1, 2);
  comes(*rack, 1, kStarContribution, 2);
  EXPECT_EQ(read_for(1), 0U) << "it has the final sum of the slot's chunk before";
  comes(*rack, 0, kStarContribution, 2);
  EXPECT_EQ(read_for(kUpstream), 1U) << "another rack has the final sum of the slot's chunk before";

  // To chunk 4 both add at the beginning.
  for (int member : {1, 0}) comes(*rack, member, kStarContribution, 4);
  EXPECT_EQ(read_for(kUpstream), 2U);
  begins(*climb, kStarCenter, piece(kStarSum, 4));
  EXPECT_EQ(read_for(kUpstream), 1U) << "all racks have the final sum of the slot's chunk before";
  comes(*climb, kStarCenter, kStarSum, 4);
  EXPECT_EQ(read_for(kUpstream), 0U) << "another rack has added to what was sent up";
  rack->end();
  climb->end();
}

}  // namespace
}  // namespace nezha::test
