// SPDX-License-Identifier: BSD-3-Clause
/// Every algorithm on whole cores over a simulated network: which bits come out depends on the vector alone, never on
/// chunks, rails, shares or the order in which things arrive.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "alg/layout.h"
#include "cluster.h"
#include "slowed_down.h"
#include "trunk/wire.h"

namespace nezha {
namespace {

using test::Cluster;
using test::Rails;
using Floats = std::vector<float>;

/// Sums of these depend on the order: they overflow, cancel and vanish.
std::vector<Floats> hostile(int ranks, std::size_t count, std::uint64_t seed) {
  constexpr float kValues[] = {1e30f, -1e30f, 1e-42f, -1e-42f, 3e38f, -3e38f, 1.0f, -0.0f, 16777217.0f, 1e-7f, 0.1f};
  SimRandom random(seed);
  std::vector<Floats> vectors(static_cast<std::size_t>(ranks), Floats(count));
  for (Floats& vector : vectors)
    for (float& value : vector)
      value = kValues[random.below(std::size(kValues))] * static_cast<float>(1 + random.real());
  return vectors;
}

bool same_bits(const Floats& a, const Floats& b) { return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0; }

/// Contributions folded from the position of the block upwards, one addition after the other.
Floats in_ring_order(const std::vector<Floats>& sources) {
  const std::size_t ranks = sources.size();
  const std::size_t count = sources[0].size();
  const Layout layout(count, sizeof(float), static_cast<int>(ranks), sizeof(float));
  Floats result(count);
  for (std::size_t block = 0; block < ranks; ++block)
    for (std::size_t i = layout.begin(static_cast<int>(block)) / sizeof(float);
         i < layout.end(static_cast<int>(block)) / sizeof(float); ++i) {
      volatile float sum = sources[block][i];
      for (std::size_t step = 1; step < ranks; ++step) sum = sum + sources[(block + step) % ranks][i];
      result[i] = sum;
    }
  return result;
}

const Rails kOne{{0.125}, ""};
const Rails kUneven{{1.0, 0.125}, ""};
const Rails kWrongShares{{0.125, 0.5, 0.125}, "sim0:9,sim1:1,sim2:1"};

class Algorithms : public testing::TestWithParam<int> {};

TEST_P(Algorithms, RingMeshAndSingleStepHaveTheBitsOfTheRingOrder) {
  const int ranks = GetParam();
  for (const Rails& rails : {kOne, kUneven, kWrongShares}) {
    Cluster cluster(ranks, rails, 1);
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, test::fewer<std::size_t>(7001)}) {
      const std::vector<Floats> sources = hostile(ranks, count, count);
      const Floats expected = in_ring_order(sources);
      for (const AlgorithmChoice choice : {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::single_step})
        for (const std::size_t chunk : {7u, 100000u})
          for (const bool in_place : {false, true}) {
            const auto results = cluster.run(sources, choice, chunk, NEZHA_FLOAT, in_place);
            for (int rank = 0; rank < ranks; ++rank)
              ASSERT_TRUE(same_bits(results[static_cast<std::size_t>(rank)], expected))
                  << "algorithm " << static_cast<int>(choice) << " count " << count << " chunk " << chunk << " rank "
                  << rank << " in place " << in_place;
          }
    }
  }
}

/// Those with an order of their own.
TEST_P(Algorithms, DoublingAndHalvingHaveTheSameBitsOnAllRanksAndRails) {
  const int ranks = GetParam();
  for (const AlgorithmChoice choice : {AlgorithmChoice::doubling, AlgorithmChoice::halving}) {
    std::vector<Floats> first;
    for (const Rails& rails : {kOne, kUneven, kWrongShares}) {
      Cluster cluster(ranks, rails, 1);
      const std::vector<Floats> sources = hostile(ranks, test::fewer<std::size_t>(3001), 5);
      for (const std::size_t chunk : {7u, 1000u})
        for (const bool in_place : {false, true}) {
          const auto results = cluster.run(sources, choice, chunk, NEZHA_FLOAT, in_place);
          if (first.empty()) first = results;
          for (const Floats& result : results) ASSERT_TRUE(same_bits(result, first[0]));
        }
    }
  }
}

TEST_P(Algorithms, AllAreRight) {
  const int ranks = GetParam();
  Cluster cluster(ranks, kUneven, 2);
  std::vector<std::vector<std::int64_t>> sources(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(999));
  std::vector<std::int64_t> expected(999);
  for (std::size_t rank = 0; rank < sources.size(); ++rank)
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] += sources[rank][i] = static_cast<std::int64_t>((rank + 1) * 1000003 * (i + 17));
  for (const AlgorithmChoice choice :
       {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::single_step, AlgorithmChoice::doubling,
        AlgorithmChoice::halving})
    for (const auto& result : cluster.run(sources, choice, 64, NEZHA_INT64, true)) ASSERT_EQ(result, expected);
}

/// A job of a million calls a second gets there within two hours.
TEST_P(Algorithms, GoOnBeyondTheOperationsThat32BitsCount) {
  const int ranks = GetParam();
  const std::vector<std::vector<std::int64_t>> sources(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(999, 1));
  const std::vector<std::int64_t> expected(999, ranks);
  for (const AlgorithmChoice choice :
       {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::single_step, AlgorithmChoice::doubling,
        AlgorithmChoice::halving}) {
    Cluster cluster(ranks, kUneven, 2, 0xffffffff - 3);
    for (int call = 0; call < 8; ++call)
      for (const auto& result : cluster.run(sources, choice, 64, NEZHA_INT64, true, call % ranks))
        ASSERT_EQ(result, expected) << "algorithm " << static_cast<int>(choice) << " call " << call;
  }
}

/// Who has asked whom for a sign of life.
std::set<std::pair<int, int>> asked(Cluster& cluster, AlgorithmChoice choice) {
  std::set<std::pair<int, int>> pairs;
  cluster.network().observe([&](ProcessId from, ProcessId to, std::span<const std::byte> header, std::span<const Gather> payload) {
    std::size_t size = 0;
    for (const Gather& part : payload) size += part.size;
    FrameRecords records;
    ASSERT_TRUE(parse_records(header, size, records).ok());
    for (std::size_t i = 0; i < records.count; ++i)
      if (records.pieces[i].control && records.pieces[i].step == static_cast<std::uint16_t>(Control::alive))
        pairs.emplace(static_cast<int>(from) - 1, static_cast<int>(to) - 1);
  });
  std::vector<Floats> vectors(cluster.size(), Floats(1000));
  for (std::size_t rank = 1; rank < cluster.size(); ++rank)
    cluster.begin(rank, std::span<const float>(vectors[rank]), vectors[rank].data(), choice, 100, NEZHA_FLOAT);
  cluster.drive([&, until = cluster.now() + 5 * kSecond] { return cluster.now() >= until; });
  cluster.begin(0, std::span<const float>(vectors[0]), vectors[0].data(), choice, 100, NEZHA_FLOAT);
  EXPECT_TRUE(cluster.drive([&] {
    bool all = true;
    for (std::size_t rank = 0; rank < cluster.size(); ++rank) all = cluster.team(rank).finished() && all;
    return all;
  }));
  cluster.network().observe(nullptr);
  return pairs;
}

/// Rank 0 comes seconds after the others.
TEST(SignsOfLife, AreWantedOnlyOfThoseWhoseBytesAreDue) {
  Cluster cluster(5, kOne, 1);
  using Pairs = std::set<std::pair<int, int>>;
  EXPECT_EQ(asked(cluster, AlgorithmChoice::ring), (Pairs{{1, 0}, {2, 1}, {3, 2}, {4, 3}}));
  EXPECT_EQ(asked(cluster, AlgorithmChoice::single_step), (Pairs{{1, 0}, {2, 0}, {3, 0}, {4, 0}}));
  EXPECT_EQ(asked(cluster, AlgorithmChoice::doubling), (Pairs{{1, 0}, {2, 1}, {3, 1}, {4, 2}})) << "0 and 1 pair up; 1 works for both";
}

INSTANTIATE_TEST_SUITE_P(Ranks, Algorithms, testing::ValuesIn(test::numbers_of_ranks()));

/// What an algorithm needs beside the vectors does not add up over teams and algorithms, and goes away when nobody calls.
TEST(Buffers, AreSharedByAllTeamsAndReleasedWhenIdle) {
  constexpr std::size_t kBytes = 8 << 20;
  Cluster cluster(3, {{20.0}, ""}, 1);
  const std::vector<std::vector<std::int32_t>> sources(3, std::vector<std::int32_t>(kBytes / sizeof(std::int32_t), 7));
  for (int team = 0; team < 4; ++team) {
    for (const AlgorithmChoice choice : {AlgorithmChoice::mesh, AlgorithmChoice::halving, AlgorithmChoice::ring}) {
      const auto results = cluster.run(sources, choice, 32768, NEZHA_INT32, true);
      ASSERT_EQ(results[2], std::vector<std::int32_t>(kBytes / sizeof(std::int32_t), 21));
    }
    cluster.renew();
  }
  EXPECT_GE(cluster.buffers(), kBytes);
  EXPECT_LE(cluster.buffers(), kBytes + kBytes / 8);
  cluster.idle(3 * kSecond);
  EXPECT_LE(cluster.buffers(), BufferPool::kMostIdle);
}

TEST(Layout, BlocksAndChunksCoverTheVectorOnce) {
  for (std::size_t count : {0u, 1u, 2u, 7u, 100u, 1001u})
    for (int blocks : {2, 3, 7, 9})
      for (std::size_t chunk : {12u, 48u, 1200u}) {
        const Layout layout(count, 12, blocks, chunk);
        std::size_t at = 0;
        for (int block = 0; block < blocks; ++block) {
          ASSERT_EQ(layout.begin(block), at);
          for (std::size_t i = 0; i < layout.chunks(block); ++i) {
            ASSERT_EQ(layout.chunk_begin(block, i), at);
            ASSERT_NE(layout.chunk_size(block, i), 0u);
            ASSERT_TRUE(layout.holds(block, at, layout.chunk_size(block, i)));
            ASSERT_EQ(layout.block_of(at), block);
            ASSERT_EQ(layout.block_of(at + layout.chunk_size(block, i) - 1), block);
            ASSERT_EQ(layout.chunk_of(block, at), i);
            at += layout.chunk_size(block, i);
          }
          ASSERT_EQ(layout.end(block), at);
        }
        ASSERT_EQ(at, count * 12);
      }
}

/// A ring's peers hear that an operation has begun before its chunks fill the queues, so the window for early pieces
/// costs nothing when all begin together.
TEST(Window, DoesNotHoldBackARingThatAllBeginTogether) {
  const std::vector<Floats> sources(4, Floats(1 << 18, 1.0f));
  const auto duration = [&](const char* window) {
    Cluster cluster(4, {{0.125, 0.125}, "", window}, 7);
    const Nanoseconds before = cluster.now();
    cluster.run(sources, AlgorithmChoice::ring, 32 * 1024, NEZHA_FLOAT, false);
    return cluster.now() - before;
  };
  EXPECT_LE(duration("128k"), duration("16m") + 100 * kMicrosecond);
}

TEST(Layout, HoldsOnlyWholeElementsOfOneChunk) {
  const Layout layout(100, 8, 4, 40);  // blocks of 25 elements, chunks of 5
  EXPECT_TRUE(layout.holds(1, 200, 40));
  EXPECT_FALSE(layout.holds(1, 200, 48));      // crosses into the next chunk
  EXPECT_FALSE(layout.holds(1, 200, 4));       // half an element
  EXPECT_FALSE(layout.holds(1, 204, 8));
  EXPECT_FALSE(layout.holds(0, 200, 8));       // another block
  EXPECT_FALSE(layout.holds(1, 192, 8));
  EXPECT_FALSE(layout.holds(1, 200, 0));
  EXPECT_FALSE(layout.holds(1, 208, ~std::uint64_t{7}));  // wraps
  EXPECT_FALSE(layout.holds(1, ~std::uint64_t{7}, 8));
}

}  // namespace
}  // namespace nezha
