// SPDX-License-Identifier: BSD-3-Clause
/// Many operations of one team under way at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "cluster.h"

namespace nezha::test {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr AlgorithmChoice kAll[] = {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::single_step,
                                    AlgorithmChoice::doubling, AlgorithmChoice::halving};

const Rails kTwo{{1.0, 0.4}, ""};

/// What the ranks add up in one operation after the other.
class Sums {
 public:
  Sums(Cluster& cluster, std::size_t operations, std::size_t most) : cluster_(cluster) {
    std::mt19937 random(7);
    for (std::size_t number = 0; number < operations; ++number) {
      const std::size_t count = 1 + random() % most;
      std::vector<Ints> vectors;
      for (std::size_t rank = 0; rank < cluster.size(); ++rank) {
        vectors.emplace_back(count);
        for (std::size_t i = 0; i < count; ++i)
          vectors.back()[i] = static_cast<std::int64_t>((rank + 1) * (number + 3) + i);
      }
      vectors_.push_back(std::move(vectors));
    }
  }

  std::size_t size() const { return vectors_.size(); }

  void begin(std::size_t rank, std::size_t number) {
    Ints& vector = vectors_[number][rank];
    cluster_.begin(rank, std::span<const std::int64_t>(vector), vector.data(), kAll[number % std::size(kAll)], 64,
                   NEZHA_INT64);
  }

  void check() const {
    const auto ranks = static_cast<std::int64_t>(cluster_.size());
    for (std::size_t number = 0; number < size(); ++number)
      for (const Ints& vector : vectors_[number])
        for (std::size_t i = 0; i < vector.size(); ++i)
          ASSERT_EQ(vector[i], ranks * (ranks + 1) / 2 * static_cast<std::int64_t>(number + 3) +
                                   ranks * static_cast<std::int64_t>(i))
              << "operation " << number << " element " << i;
  }

 private:
  Cluster& cluster_;
  std::vector<std::vector<Ints>> vectors_;
};

class ManyOperations : public testing::TestWithParam<int> {};

TEST_P(ManyOperations, AsManyAsMayBeAreUnderWayAtOnce) {
  Cluster cluster(GetParam(), kTwo, 5);
  Sums sums(cluster, kMostUnderWay, 3000);
  for (std::size_t rank = 0; rank < cluster.size(); ++rank) {
    for (std::size_t number = 0; number < sums.size(); ++number) {
      ASSERT_TRUE(cluster.team(rank).operations().room());
      sums.begin(rank, number);
    }
    EXPECT_FALSE(cluster.team(rank).operations().room());
  }
  EXPECT_TRUE(cluster.all_finish());
  sums.check();
  EXPECT_TRUE(cluster.team(0).operations().room());
}

/// Ranks come to each operation at times of their own, some many operations ahead of others, and go on as there is
/// room.
TEST_P(ManyOperations, RanksAreAheadOfEachOther) {
  Cluster cluster(GetParam(), kTwo, 6);
  Sums sums(cluster, 5 * kMostUnderWay, 2000);
  std::mt19937 random(1);
  std::vector<std::size_t> next(cluster.size());
  EXPECT_TRUE(cluster.drive([&] {
    bool all = true;
    for (std::size_t rank = 0; rank < cluster.size(); ++rank) {
      cluster.team(rank).finished();
      for (std::size_t some = random() % 30;
           some != 0 && next[rank] < sums.size() && cluster.team(rank).operations().room(); --some)
        sums.begin(rank, next[rank]++);
      all = next[rank] == sums.size() && !cluster.team(rank).active() && all;
    }
    return all;
  }));
  sums.check();
}

/// One that is long over is no reason to wait, one that has not begun neither.
TEST(ManyOperationsOfTwo, EndInAnyOrder) {
  Cluster cluster(2, kTwo, 1);
  Sums sums(cluster, 3, 100);
  sums.begin(0, 0);
  sums.begin(0, 1);
  sums.begin(1, 0);
  sums.begin(1, 1);
  Team& team = cluster.team(0);
  EXPECT_TRUE(cluster.drive([&] { return team.finished(2); }));
  EXPECT_TRUE(cluster.drive([&] { return team.finished(1) && cluster.team(1).finished(); }));
  sums.begin(0, 2);
  EXPECT_TRUE(team.finished(1));
  EXPECT_TRUE(team.finished(2));
  EXPECT_FALSE(team.finished(3));
  EXPECT_FALSE(team.finished());
  sums.begin(1, 2);
  EXPECT_TRUE(cluster.all_finish());
  sums.check();
}

INSTANTIATE_TEST_SUITE_P(Ranks, ManyOperations, testing::Values(2, 3, 5));

}  // namespace
}  // namespace nezha::test
