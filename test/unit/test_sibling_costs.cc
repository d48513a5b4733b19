// SPDX-License-Identifier: BSD-3-Clause
/// What the collectives beside allreduce cost beside their vectors: memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster.h"
#include "sibling_job.h"

namespace nezha::test {
namespace {

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

}  // namespace
}  // namespace nezha::test
