// SPDX-License-Identifier: BSD-3-Clause
/// What the collectives beside allreduce cost beside their vectors: memory, and words for ranks that send nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cluster.h"
#include "sibling_job.h"
#include "slowed_down.h"
#include "trunk/wire.h"

namespace nezha::test {
namespace {

constexpr Collective kSiblings[] = {Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
                                    Collective::reduce};

/// What goes from the first rank of a pair to the second.
using ByPair = std::map<std::pair<std::size_t, std::size_t>, std::size_t>;

/// Runs one operation of a job.
class Observed {
 public:
  Observed(Cluster& cluster, Job& job, AlgorithmChoice algorithm) {
    cluster.network().observe([this](ProcessId from, ProcessId to, auto header, auto payload) {
      std::size_t size = 0;
      for (const Gather& part : payload) size += part.size;
      FrameRecords records;
      ASSERT_TRUE(parse_records(header, size, records).ok());
      for (std::size_t i = 0; i < records.count; ++i) count({from - 1, to - 1}, records.pieces[i]);
    });
    for (std::size_t rank = 0; rank < cluster.size(); ++rank) job.begin(cluster, rank, algorithm, 1000);
    for (std::size_t rank = 0; rank < cluster.size(); ++rank) {
      const Algorithm& by = cluster.team(rank).operations().find(job.numbers[rank])->algorithm();
      for (std::size_t from = 0; from < cluster.size(); ++from)
        if (from != rank) expected[{from, rank}] = by.expected(static_cast<int>(from), job.call(rank, 1000));
    }
    std::erase_if(expected, [](const auto& each) { return each.second == 0; });
    EXPECT_TRUE(cluster.all_finish());
    cluster.network().observe(nullptr);
  }

  ByPair expected, sent, told;  ///< bytes that the receiver expects, bytes sent, and records that say who has begun

 private:
  void count(const ByPair::key_type& pair, const PieceHeader& record) {
    if (!record.control)
      sent[pair] += record.length;
    else if (record.step == static_cast<std::uint16_t>(Control::begun))
      ++told[pair];
  }
};

class SiblingCosts : public testing::TestWithParam<int> {};

TEST_P(SiblingCosts, RanksExpectWhatIsSentToThem) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  Cluster cluster(GetParam(), {{1.0}, ""}, 3);
  std::uint64_t seed = 1;
  for (const Collective collective : kSiblings)
    for (const AlgorithmChoice algorithm : kAlgorithms)
      for (const Counts& counts : some_counts(ranks)) {
        const int root = static_cast<int>(++seed % ranks);
        Job job(collective, counts, root, false, seed);
        const Observed seen(cluster, job, algorithm);
        ASSERT_EQ(seen.expected, seen.sent)
            << name_of(collective) << " by " << static_cast<int>(algorithm) << " of " << job.total();
      }
}

TEST_P(SiblingCosts, RanksOfAnAllreduceExpectNoLessThanIsSentToThem) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  Cluster cluster(GetParam(), {{1.0}, ""}, 3);
  for (const AlgorithmChoice algorithm : kAlgorithms)
    for (const Counts& counts : some_counts(ranks)) {
      Job job(Collective::allreduce, counts, 0, false, 1);
      Observed seen(cluster, job, algorithm);
      for (const auto& [pair, bytes] : seen.sent) {
        ASSERT_GE(seen.expected[pair], bytes) << static_cast<int>(algorithm) << " of " << job.total();
        ASSERT_LE(seen.expected[pair], bytes + 2 * ranks * sizeof(float));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SiblingCosts, testing::ValuesIn(numbers_of_ranks()));

/// Vectors of more than half a window, of which each rank but one needs to be told once.
TEST(SiblingsBegun, ThoseWhoSendAreToldAndNobodyElse) {
  constexpr std::size_t kRanks = 8;
  Cluster cluster(kRanks, {{1.0}, ""}, 3);
  for (const Collective collective : {Collective::broadcast, Collective::reduce})
    for (const AlgorithmChoice algorithm : kAlgorithms) {
      Job job(collective, Counts(kRanks, 6000), 3, false, 1);
      const Observed seen(cluster, job, algorithm);
      EXPECT_EQ(seen.told.size(), kRanks - 1) << name_of(collective) << " by " << static_cast<int>(algorithm);
      for (const auto& [pair, times] : seen.told) {
        EXPECT_EQ(times, 1u);
        EXPECT_TRUE(seen.sent.contains({pair.second, pair.first})) << pair.second << " sends nothing to " << pair.first;
      }
    }
}

/// Contributions that wait for their turn would be as many vectors as ranks.
TEST(SiblingMemory, DoesNotGrowWithRanksWhereOneRankGetsAll) {
  constexpr std::size_t kRanks = 8, kCount = 1536 * 1024, kBytes = kCount * sizeof(float);
  for (const Collective collective : {Collective::reduce_scatter, Collective::reduce})
    for (const AlgorithmChoice algorithm : kAlgorithms) {
      Cluster cluster(kRanks, {{20.0}, ""}, 1);
      Counts counts(kRanks, 0);
      counts[2] = kCount;
      Job job(collective, counts, 2, false, 1);
      for (std::size_t rank = 0; rank < kRanks; ++rank) job.begin(cluster, rank, algorithm, 32768);
      EXPECT_LE(cluster.buffers(), std::max(kMostMesh, 2 * kBytes) * 9 / 8)
          << name_of(collective) << " by " << static_cast<int>(algorithm);
      ASSERT_TRUE(cluster.all_finish());
    }
}

/// Halving keeps a vector for each of its steps, the mesh one of each rank.
TEST(SiblingMemory, OfManyRanksSufficesForHalving) {
  Call call;
  call.collective = Collective::reduce;
  call.element = sizeof(float);
  call.count = 32 * 1024;
  EXPECT_EQ(affordable(AlgorithmChoice::halving, call, 512), AlgorithmChoice::halving);
  EXPECT_EQ(affordable(AlgorithmChoice::mesh, call, 512), AlgorithmChoice::ring);
  Counts counts(64, 0);
  counts[5] = 8 * 1024 * 1024;
  call.collective = Collective::reduce_scatter;
  call.counts = counts.data();
  call.count = counts[5];
  EXPECT_EQ(affordable(AlgorithmChoice::halving, call, 64), AlgorithmChoice::ring);
}

/// In place the result lies over contributions that others still need: beside what an algorithm takes in any case, room
/// for the own block suffices. Of two ranks the ring takes nothing else.
TEST(SiblingMemory, OfAReduceScatterInPlaceIsForTheOwnBlock) {
  constexpr std::size_t kCount = 1 << 20, kBlock = kCount * sizeof(float);
  for (const auto& [algorithm, ranks] : {std::pair{AlgorithmChoice::ring, 2u}, std::pair{AlgorithmChoice::mesh, 4u}}) {
    Cluster cluster(static_cast<int>(ranks), {{20.0}, ""}, 1);
    Job job(Collective::reduce_scatter, Counts(ranks, kCount), 0, true, 1);
    for (std::size_t rank = 0; rank < ranks; ++rank) job.begin(cluster, rank, algorithm, 32768);
    const std::size_t contributions = algorithm == AlgorithmChoice::mesh ? ranks * kBlock : 0;
    EXPECT_LE(cluster.buffers(), contributions + kBlock) << static_cast<int>(algorithm);
    ASSERT_TRUE(cluster.all_finish());
  }
}

}  // namespace
}  // namespace nezha::test
