// SPDX-License-Identifier: BSD-3-Clause
/// Who needs lanes to whom: every algorithm but the meshes comes to its end with lanes to neighbours alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "alg/neighbours.h"
#include "cluster.h"

namespace nezha::test {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(Neighbours, AreThoseOfOneAnotherAndFew) {
  std::vector<int> sizes = {1000, 1023, 1024, 1025};
  for (int size = 2; size <= 130; ++size) sizes.push_back(size);
  for (const int size : sizes) {
    std::vector<std::vector<int>> of;
    for (int position = 0; position < size; ++position) of.push_back(neighbours(size, position, false));
    for (int position = 0; position < size; ++position) {
      const std::vector<int>& mine = of[static_cast<std::size_t>(position)];
      ASSERT_TRUE(std::is_sorted(mine.begin(), mine.end()));
      ASSERT_LE(mine.size(), 4u * static_cast<unsigned>(std::bit_width(static_cast<unsigned>(size))));
      for (const int other : mine) {
        ASSERT_NE(other, position);
        const std::vector<int>& theirs = of[static_cast<std::size_t>(other)];
        ASSERT_TRUE(std::binary_search(theirs.begin(), theirs.end(), position)) << size << ": " << position << ", " << other;
      }
    }
  }
}

TEST(Neighbours, OfPowersOfTwoAreTwiceTheLogarithm) {
  for (const int size : {8, 64, 1024})
    for (int position = 0; position < size; ++position)
      ASSERT_LE(neighbours(size, position, false).size(), 2u * static_cast<unsigned>(std::bit_width(static_cast<unsigned>(size - 1))));
}

TEST(Neighbours, AreAllForMeshes) {
  EXPECT_EQ(neighbours(5, 2, true), (std::vector<int>{0, 1, 3, 4}));
  EXPECT_EQ(neighbours(1, 0, false), std::vector<int>{});
}

/// A team of ranks that have lanes to neighbours only.
class Sparse : public testing::TestWithParam<int> {
 protected:
  Sparse() : cluster({GetParam(), {{1.0}, "", "256k", 0}, 5}) {}
  std::size_t size() const { return static_cast<std::size_t>(GetParam()); }

  /// Of one block of `each` elements a rank, or for a root's vector of as many as all. Right on all ranks.
  void run(Collective collective, AlgorithmChoice algorithm, int root) {
    const bool rooted = collective == Collective::broadcast || collective == Collective::reduce;
    const std::size_t each = collective == Collective::barrier ? 0 : 3, all = each * size();
    std::vector<std::size_t> counts(size(), rooted ? 0 : each);
    if (rooted) counts[static_cast<std::size_t>(root)] = all;
    std::vector<Ints> send(size(), Ints(all + 1, 1)), recv(size(), Ints(all + 1, 1));
    for (std::size_t rank = 0; rank < size(); ++rank) {
      Call call;
      call.collective = collective;
      call.send = reinterpret_cast<const std::byte*>(send[rank].data());
      call.recv = reinterpret_cast<std::byte*>(recv[rank].data());
      const bool in_place = collective == Collective::broadcast && static_cast<int>(rank) == root;
      if (in_place) call.send = call.recv;
      call.count = all;
      call.counts = counts.data();
      call.root = root;
      call.element = sizeof(std::int64_t);
      call.chunk = 2 * call.element;
      call.reducer = {find_kernel(NEZHA_INT64, NEZHA_SUM), nullptr, nullptr, nullptr, call.element};
      cluster.core(rank).start(cluster.team(rank), call, algorithm);
    }
    ASSERT_TRUE(cluster.all_finish());
    const bool sums = collective != Collective::broadcast && collective != Collective::allgather;
    for (std::size_t rank = 0; rank < size(); ++rank) {
      ASSERT_EQ(cluster.team(rank).error(), "") << "collective " << static_cast<int>(collective) << ", algorithm "
                                                << static_cast<int>(algorithm) << ", root " << root;
      std::size_t result = all;
      if (collective == Collective::reduce_scatter) result = each;
      if (collective == Collective::reduce && static_cast<int>(rank) != root) result = 0;
      for (std::size_t i = 0; i < result; ++i)
        ASSERT_EQ(recv[rank][i], sums ? static_cast<std::int64_t>(size()) : 1) << "rank " << rank;
    }
  }

  Cluster cluster;
};

TEST_P(Sparse, NoAlgorithmLacksALane) {
  for (std::size_t rank = 0; rank < size(); ++rank) {
    const Team& team = cluster.team(rank);
    EXPECT_EQ(team.needed().size(), neighbours(GetParam(), static_cast<int>(rank), false).size());
    for (const Peer* peer : team.peers())
      EXPECT_TRUE(peer == nullptr || team.needs(*peer) == (peer->trunk != nullptr)) << "more than is needed";
  }
  run(Collective::barrier, AlgorithmChoice::ring, 0);
  run(Collective::allreduce, AlgorithmChoice::doubling, 0);
  for (const AlgorithmChoice algorithm : {AlgorithmChoice::ring, AlgorithmChoice::halving}) {
    for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::reduce_scatter})
      run(collective, algorithm, 0);
    for (const int root : {0, 1, GetParam() / 2, GetParam() - 1}) {
      run(Collective::broadcast, algorithm, root);
      run(Collective::reduce, algorithm, root);
    }
  }
}

/// Its plan cannot have asked for it, since all plan alike: it is a mistake, of which all hear.
TEST_P(Sparse, AnAlgorithmThatLacksALaneEndsWithAnError) {
  if (neighbours(GetParam(), 0, false).size() + 1 == size()) return;
  std::vector<std::int64_t> value(size(), 1);
  for (std::size_t rank = 0; rank < size(); ++rank) {
    try {
      cluster.begin(rank, std::span<const std::int64_t>(&value[rank], 1), &value[rank], AlgorithmChoice::single_step, 1,
                    NEZHA_INT64);
    } catch (const std::logic_error&) {
      cluster.core(rank).break_off(cluster.team(rank), std::current_exception());
    }
  }
  ASSERT_TRUE(cluster.all_finish());
  for (std::size_t rank = 0; rank < size(); ++rank)
    EXPECT_NE(cluster.team(rank).error(), "") << "rank " << rank;
}

/// Lanes of an earlier team may be up: then all are ready at their first vote, but one means lanes to fewer.
TEST(DifferingLimits, ATeamIsReadyWhenAllMeanTheLanesOfRankZero) {
  constexpr int kRanks = 8;
  for (const bool all : {true, false}) {
    Cluster cluster(kRanks, {{1.0}, "", "256k", all ? 32 : 0, all ? 0 : 32}, 5);
    for (int teams = 0; teams < 2; ++teams, cluster.renew()) {
      for (int rank = 0; rank < kRanks; ++rank)
        EXPECT_EQ(cluster.team(static_cast<std::size_t>(rank)).needed().size(), neighbours(kRanks, rank, all).size());
      const std::vector<Ints> sources(kRanks, Ints(100, 1));
      const AlgorithmChoice algorithm = all ? AlgorithmChoice::mesh : AlgorithmChoice::halving;
      for (const Ints& sum : cluster.run(sources, algorithm, 5, NEZHA_INT64, false)) EXPECT_EQ(sum, Ints(100, kRanks));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Sparse, testing::Values(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 23, 32, 33));

}  // namespace
}  // namespace nezha::test
