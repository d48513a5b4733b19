// SPDX-License-Identifier: BSD-3-Clause
/// Ranks whose calls differ, which is a mistake of the program: all of them get an error that says so, and lanes and
/// other teams go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cluster.h"
#include "slowed_down.h"

namespace nezha::test {
namespace {

using Ints = std::vector<std::int32_t>;

struct Difference {
  std::size_t count, other;  ///< elements: of all ranks but one, and of that one
};

class DifferingCalls : public testing::TestWithParam<AlgorithmChoice> {
 protected:
  /// All begin, `late` when the others' pieces have come; -1: all together. Until each has an error, for a second at
  /// most.
  void call(Cluster& cluster, std::size_t culprit, const Difference& difference, int late) {
    std::vector<Ints> vectors(cluster.size(), Ints(difference.count, 1));
    vectors[culprit].resize(difference.other, 1);
    const auto start = [&](std::size_t rank) {
      if (!cluster.team(rank).error().empty()) return;  // as in the engine: the others have found out
      cluster.begin(rank, std::span<const std::int32_t>(vectors[rank]), vectors[rank].data(), GetParam(), 5000,
                    NEZHA_INT32);
    };
    for (std::size_t rank = 0; rank < cluster.size(); ++rank)
      if (static_cast<int>(rank) != late) start(rank);
    const Nanoseconds began = cluster.now();
    if (late >= 0) {
      cluster.drive([&] { return cluster.now() > began + 20 * kMillisecond; });
      start(static_cast<std::size_t>(late));
    }
    const auto failed = [&](std::size_t rank) { return !cluster.team(rank).error().empty(); };
    cluster.drive([&] {
      bool all = true;
      for (std::size_t rank = 0; rank < cluster.size(); ++rank)
        all = (cluster.team(rank).finished(), failed(rank)) && all;
      return all || cluster.now() > began + kSecond;
    });
    for (std::size_t rank = 0; rank < cluster.size(); ++rank) {
      ASSERT_TRUE(failed(rank)) << "rank " << rank << " waits for ever";
      const std::string& error = cluster.team(rank).error();
      EXPECT_NE(error.find("counts or types differ between ranks: "), std::string::npos) << error;
      const std::string name = rank == culprit ? "this rank on " : "rank " + std::to_string(culprit) + " on ";
      EXPECT_NE(error.find(name), std::string::npos) << error;
      for (const std::size_t count : {difference.count, difference.other})
        EXPECT_NE(error.find(" " + std::to_string(4 * count) + " bytes"), std::string::npos) << error;
    }
  }

  static void lanes_are_whole(Cluster& cluster) {
    for (std::size_t rank = 0; rank < cluster.size(); ++rank)
      for (const Peer* peer : cluster.team(rank).peers())
        EXPECT_TRUE(peer == nullptr || peer->trunk->lanes_up() == peer->wires.size());
  }
};

constexpr Difference kDifferences[] = {{1, 2},     {2, 1},     {1000, 1001},   {1001, 1000},
                                       {3, 90000}, {90000, 3}, {90000, 200000}};

TEST_P(DifferingCalls, AreAnErrorOnAllRanks) {
  const auto many = fewer<std::size_t>(50000);
  for (const int ranks : {2, 3, 5}) {
    Cluster cluster(ranks, {{1.0, 0.125}, ""}, 3);
    for (const Difference& difference : kDifferences)
      for (const int culprit : {0, ranks - 1})
        for (const int late : {-1, culprit, (culprit + 1) % ranks}) {
          call(cluster, static_cast<std::size_t>(culprit), difference, late);
          ASSERT_FALSE(HasFailure()) << ranks << " ranks, " << difference.count << " elements, on rank " << culprit
                                     << " " << difference.other << ", late: " << late;
          cluster.renew();
          const std::vector<Ints> sources(cluster.size(), Ints(many, 1));
          for (const Ints& result : cluster.run(sources, GetParam(), 5000, NEZHA_INT32, false))
            ASSERT_EQ(result, Ints(many, ranks)) << "another team has suffered";
          lanes_are_whole(cluster);
        }
    for (std::size_t rank = 0; rank < cluster.size(); ++rank)
      for (const RailLoad& load : cluster.core(rank).loads()) EXPECT_EQ(load.reconnections, 0u) << "a lane was closed";
  }
}

/// Where sizes differ, so may what is best for them. That rank waits in Open MPI's allreduce, but the others get their error,
/// and it gets one where it has heard of them before. Each of four positions gets something of another's at once.
TEST_P(DifferingCalls, OneOfWhichIsLeftToTheIncumbentAreAnErrorOnAllOthers) {
  Cluster cluster(4, {{1.0, 0.125}, ""}, 3);
  for (const Nanoseconds late : {Nanoseconds{0}, 20 * kMillisecond}) {
    std::vector<Ints> vectors(cluster.size(), Ints(1000, 1));
    if (late == 0) cluster.core(0).leave_to_incumbent(cluster.team(0), 8);
    for (const std::size_t rank : {1, 2, 3})
      cluster.begin(rank, std::span<const std::int32_t>(vectors[rank]), vectors[rank].data(), GetParam(), 5000, NEZHA_INT32);
    cluster.drive([&, until = cluster.now() + late] { return cluster.now() >= until; });
    if (late != 0) cluster.core(0).leave_to_incumbent(cluster.team(0), 8);
    EXPECT_TRUE(late == 0 || !cluster.team(0).error().empty());
    cluster.drive([&, until = cluster.now() + 100 * kMillisecond] { return cluster.now() >= until; });
    for (std::size_t rank = 0; rank < cluster.size(); ++rank) {
      ASSERT_FALSE(cluster.team(rank).error().empty()) << "rank " << rank << ", " << late;
      EXPECT_NE(cluster.team(rank).error().find("has a vector of 8 bytes"), std::string::npos) << cluster.team(rank).error();
    }
    cluster.renew();
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, DifferingCalls,
                         testing::Values(AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::single_step,
                                         AlgorithmChoice::doubling, AlgorithmChoice::halving));

}  // namespace
}  // namespace nezha::test
