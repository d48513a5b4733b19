// SPDX-License-Identifier: BSD-3-Clause
/// The collectives beside allreduce, on whole cores over a simulated network: every one by every algorithm, with blocks
/// of any sizes, any root and any rank late. Sums have the bits of the ring order, or, by halving, those of an
/// allreduce of one block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cluster.h"
#include "sibling_job.h"
#include "slowed_down.h"
#include "table_ranks.h"
#include "tuning/siblings.h"

namespace nezha::test {
namespace {

class Siblings : public testing::TestWithParam<int> {};

TEST_P(Siblings, AreRightByEveryAlgorithmWithAnyBlocksAndAnyRankLate) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  Cluster cluster(GetParam(), {{1.0, 0.125}, ""}, 3);
  std::uint64_t seed = 1;
  for (const Collective collective :
       {Collective::reduce_scatter, Collective::allgather, Collective::broadcast, Collective::reduce})
    for (const AlgorithmChoice algorithm : kAlgorithms)
      for (const Counts& counts : some_counts(ranks))
        for (const std::size_t chunk : {64u, 100000u})
          for (const bool in_place : {false, true}) {
            const int root = static_cast<int>(seed % ranks), late = static_cast<int>(seed / 2 % (ranks + 1)) - 1;
            Job job(collective, counts, root, in_place, ++seed);
            for (std::size_t rank = 0; rank < ranks; ++rank)
              if (static_cast<int>(rank) != late) job.begin(cluster, rank, algorithm, chunk);
            if (late >= 0) {
              cluster.idle(5 * kMillisecond);
              job.begin(cluster, static_cast<std::size_t>(late), algorithm, chunk);
            }
            ASSERT_TRUE(cluster.all_finish());
            ASSERT_TRUE(job.right(algorithm))
                << "collective " << static_cast<int>(collective) << " algorithm " << static_cast<int>(algorithm)
                << " of " << job.total() << " root " << root << " chunk " << chunk << " late " << late << " in place "
                << in_place;
          }
}

/// What was handed in stays as it was, unless it is where the result goes.
TEST_P(Siblings, LeaveWhatWasHandedInAsItWas) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  Cluster cluster(GetParam(), {{1.0, 0.125}, ""}, 3);
  for (const Collective collective : {Collective::reduce_scatter, Collective::allgather, Collective::reduce})
    for (const AlgorithmChoice algorithm : kAlgorithms) {
      Job job(collective, Counts(ranks, 900), 0, false, 9);
      const std::vector<Floats> before = job.send;
      for (std::size_t rank = 0; rank < ranks; ++rank) job.begin(cluster, rank, algorithm, 100);
      ASSERT_TRUE(cluster.all_finish());
      for (std::size_t rank = 0; rank < ranks; ++rank)
        ASSERT_EQ(std::memcmp(before[rank].data(), job.send[rank].data(), before[rank].size() * sizeof(float)), 0);
    }
}

/// What lies behind the result of a reduce_scatter in place is the caller's.
TEST_P(Siblings, LeaveInPlaceWhatIsBehindTheResultAsItWas) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  Cluster cluster(GetParam(), {{1.0, 0.125}, ""}, 3);
  for (const AlgorithmChoice algorithm : kAlgorithms) {
    Job job(Collective::reduce_scatter, Counts(ranks, 900), 0, true, 9);
    for (std::size_t rank = 0; rank < ranks; ++rank) job.begin(cluster, rank, algorithm, 100);
    ASSERT_TRUE(cluster.all_finish());
    ASSERT_TRUE(job.right(algorithm));
    for (std::size_t rank = 0; rank < ranks; ++rank)
      ASSERT_EQ(std::memcmp(&job.recv[rank][900], &job.sources[rank][900], (ranks - 1) * 900 * sizeof(float)), 0);
  }
}

TEST_P(Siblings, ABarrierEndsWhenTheLastHasCome) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  Cluster cluster(GetParam(), {{1.0, 0.125}, ""}, 3);
  for (std::size_t late = 0; late < ranks; ++late) {
    Job job(Collective::barrier, Counts(ranks, 0), 0, false, 1);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (rank != late) job.begin(cluster, rank, AlgorithmChoice::automatic, 1);
    cluster.idle(20 * kMillisecond);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      EXPECT_TRUE(rank == late || !cluster.team(rank).finished(job.numbers[rank]))
          << rank << " did not wait for " << late;
    job.begin(cluster, late, AlgorithmChoice::automatic, 1);
    ASSERT_TRUE(cluster.all_finish());
  }
}

/// Many at a time, each rank in the order of the calls but as far ahead as it likes.
TEST_P(Siblings, GoOnBesideOneAnother) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  Cluster cluster(GetParam(), {{1.0, 0.125}, "", "64k"}, 5);
  SimRandom random(7);
  std::vector<Job> jobs;
  std::vector<AlgorithmChoice> algorithms;
  for (int i = 0; i < 48; ++i) {
    constexpr Collective kAll[] = {Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
                                   Collective::reduce, Collective::barrier};
    const std::vector<Counts> counts = some_counts(ranks);
    jobs.emplace_back(kAll[random.below(std::size(kAll))], counts[random.below(counts.size())],
                      static_cast<int>(random.below(ranks)), random.chance(0.5), random.next());
    algorithms.push_back(kAlgorithms[random.below(std::size(kAlgorithms))]);
  }
  std::vector<std::size_t> next(ranks, 0);
  for (bool all = false; !all;) {
    all = true;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t step = random.below(6); step > 0 && next[rank] < jobs.size(); --step, ++next[rank])
        jobs[next[rank]].begin(cluster, rank, algorithms[next[rank]], 300);
    for (const std::size_t at : next) all = all && at == jobs.size();
    cluster.idle(100 * kMicrosecond);
  }
  ASSERT_TRUE(cluster.all_finish());
  for (std::size_t i = 0; i < jobs.size(); ++i)
    ASSERT_TRUE(jobs[i].right(algorithms[i])) << "job " << i << " collective " << static_cast<int>(jobs[i].collective);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Siblings, testing::ValuesIn(numbers_of_ranks()));

/// A root that has ended many broadcasts before a leaf begins them stays within the leaf's window, and goes on without
/// standing still once the leaf does.
TEST(Broadcast, TheRootMayBeFarAheadOfItsLeaves) {
  for (const std::size_t count : {1u, 200u, 3000u}) {
    Cluster cluster(3, {{1.0, 0.125}, "", "64k"}, 3);
    std::vector<Job> jobs;
    for (std::uint64_t i = 0; i < 600; ++i)
      jobs.emplace_back(Collective::broadcast, Counts{count, 0, 0}, 0, true, i + 1);
    std::size_t root = 0;
    const auto advance_root = [&] {
      while (root < jobs.size() && (cluster.team(0).finished(), cluster.team(0).operations().room()))
        jobs[root++].begin(cluster, 0, AlgorithmChoice::mesh, 1000);
      return root == jobs.size();
    };
    cluster.drive([&, until = cluster.now() + 50 * kMillisecond] { return advance_root() || cluster.now() >= until; });
    EXPECT_LT(root, jobs.size()) << "the window is no bound";
    EXPECT_GT(root, std::min<std::size_t>(64, (64 << 10) / (4 * count)) / 2) << "and yet it goes ahead";
    std::size_t leaves[] = {0, 0};
    ASSERT_TRUE(cluster.drive([&] {
      for (std::size_t rank = 1; rank < 3; ++rank)
        while (leaves[rank - 1] < jobs.size() &&
               (cluster.team(rank).finished(), cluster.team(rank).operations().room()))
          jobs[leaves[rank - 1]++].begin(cluster, rank, AlgorithmChoice::mesh, 1000);
      return advance_root() && leaves[0] == jobs.size() && leaves[1] == jobs.size();
    }));
    ASSERT_TRUE(cluster.all_finish());
    for (const Job& job : jobs) ASSERT_TRUE(job.right(AlgorithmChoice::mesh));
    for (std::size_t rank = 0; rank < 3; ++rank)
      for (const RailLoad& load : cluster.core(rank).loads()) EXPECT_EQ(load.reconnections, 0u) << "a lane was closed";
  }
}

/// What leaves have begun no longer counts against their windows: the root asks nobody, in the last round as in the first.
TEST(Broadcast, TheRootHearsThatItsLeavesHaveCaughtUp) {
  Cluster cluster(3, {{1.0}, "", "64k"}, 3);
  const auto round = [&](std::uint64_t seed) {
    Job broadcast(Collective::broadcast, Counts{2000, 0, 0}, 0, true, seed), meeting(Collective::barrier, Counts{1, 0, 0}, 0, true, seed);
    const std::uint64_t before = cluster.core(0).loads()[0].frames_sent;
    broadcast.begin(cluster, 0, AlgorithmChoice::mesh, 1 << 20);
    EXPECT_TRUE(cluster.drive([&] { return cluster.team(0).finished(); })) << "it waits for no leaf";
    for (const std::size_t leaf : {1, 2}) broadcast.begin(cluster, leaf, AlgorithmChoice::mesh, 1 << 20);
    EXPECT_TRUE(cluster.all_finish());
    for (const std::size_t rank : {0, 1, 2}) meeting.begin(cluster, rank, AlgorithmChoice::mesh, 1 << 20);
    EXPECT_TRUE(cluster.all_finish());
    return cluster.core(0).loads()[0].frames_sent - before;
  };
  round(1);
  const std::uint64_t frames = round(2);
  for (std::uint64_t seed = 3; seed < 30; ++seed) EXPECT_EQ(round(seed), frames) << seed;
}

TEST(SiblingChoice, DependsOnSizeRanksAndPlanAlone) {
  Plan plan;
  plan.mesh_block = 8 * 1024;
  plan.mesh_peers = 63;
  const auto choice = [&](Collective collective, std::size_t bytes, int size) {
    return sibling_choice(plan, collective, bytes, 4, size);
  };
  const auto chunk = [&](Collective collective, std::size_t bytes, int size) {
    return sibling_chunk(plan, collective, {choice(collective, bytes, size)}, bytes, 4, size);
  };
  EXPECT_EQ(choice(Collective::broadcast, 4, 4), AlgorithmChoice::mesh);
  EXPECT_EQ(choice(Collective::broadcast, 4, 64), AlgorithmChoice::halving);
  EXPECT_EQ(choice(Collective::broadcast, 1 << 20, 4), AlgorithmChoice::ring);
  EXPECT_EQ(chunk(Collective::broadcast, 1 << 20, 4), 16u * 1024);
  EXPECT_EQ(chunk(Collective::reduce, 16 << 20, 4), 64u * 1024);
  EXPECT_EQ(choice(Collective::allgather, 1024, 4), AlgorithmChoice::mesh);
  plan.mesh_peers = 2;
  for (const Collective collective :
       {Collective::broadcast, Collective::reduce, Collective::allgather, Collective::reduce_scatter})
    EXPECT_EQ(choice(collective, 1024, 4), AlgorithmChoice::halving) << "a mesh has no lanes";
  plan.mesh_peers = 63;
  EXPECT_EQ(choice(Collective::allgather, 1024, 64), AlgorithmChoice::halving);
  EXPECT_EQ(choice(Collective::reduce_scatter, 1 << 20, 4), AlgorithmChoice::ring);
  plan.threshold = 4096;
  EXPECT_EQ(choice(Collective::broadcast, 4095, 4), AlgorithmChoice::incumbent);
  EXPECT_NE(choice(Collective::broadcast, 4096, 4), AlgorithmChoice::incumbent);
  EXPECT_NE(choice(Collective::barrier, 1, 4), AlgorithmChoice::incumbent);
  plan.threshold = 0;
  plan.algorithm = AlgorithmChoice::halving;
  EXPECT_EQ(choice(Collective::broadcast, 1 << 20, 4), AlgorithmChoice::halving);
  plan.algorithm = AlgorithmChoice::incumbent;
  EXPECT_EQ(choice(Collective::broadcast, 1 << 20, 4), AlgorithmChoice::incumbent);
  plan.algorithm = AlgorithmChoice::automatic;
  plan.chunk = 10;
  EXPECT_EQ(chunk(Collective::broadcast, 1 << 20, 4), 8u) << "whole elements";
}

/// Tables of four ranks, one collective.
Terms sibling_terms(Collective collective) {
  Terms terms = learning();
  terms.collective = collective;
  return terms;
}

TEST(SiblingLearning, TheFastestIsFoundAlsoWhereThatIsOpenMpisOwn) {
  for (const Collective collective :
       {Collective::broadcast, Collective::reduce, Collective::allgather, Collective::reduce_scatter}) {
    for (const AlgorithmChoice fastest :
         {AlgorithmChoice::incumbent, AlgorithmChoice::ring, AlgorithmChoice::halving, AlgorithmChoice::mesh}) {
      Ranks ranks(sibling_terms(collective));
      ranks.calls(200, kSize, times({{fastest, 300}}));
      EXPECT_EQ(ranks.chosen(kSize), Candidate{fastest}) << name_of(collective);
    }
  }
}

TEST(SiblingLearning, RootedVectorsThatAreLargeAreNotTriedStraight) {
  const std::vector<Candidate> large = candidates(size_class_of(16 << 20), sibling_terms(Collective::broadcast));
  EXPECT_EQ(large, (std::vector<Candidate>{{AlgorithmChoice::ring}, {AlgorithmChoice::incumbent}}));
}

TEST(SiblingLearning, ReduceScattersThatAreLargeGoRoundTheRing) {
  const auto tried = [](std::size_t bytes) {
    return candidates(size_class_of(bytes), sibling_terms(Collective::reduce_scatter));
  };
  EXPECT_EQ(tried(16 << 20).size(), 4u);
  EXPECT_EQ(tried(32 << 20), (std::vector<Candidate>{{AlgorithmChoice::ring}, {AlgorithmChoice::incumbent}}));
}

/// Where ranks of a node share memory the choice is for as many as there are nodes, of which one needs no algorithm.
TEST(SiblingLearning, CountsNodesWhereTheirRanksShareMemory) {
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    Terms terms = sibling_terms(collective);
    terms.ranks = 256;
    terms.plan.mesh_peers = 32;
    const auto meshes = [&] {
      const std::vector<Candidate> ways = candidates(size_class_of(kSize), terms);
      return std::find(ways.begin(), ways.end(), Candidate{AlgorithmChoice::mesh}) != ways.end();
    };
    EXPECT_FALSE(meshes());
    terms.nodes = 4;
    EXPECT_TRUE(meshes());
    terms.nodes = 1;
    const std::vector<Candidate> within{{AlgorithmChoice::memory}, {AlgorithmChoice::incumbent}};
    EXPECT_EQ(candidates(size_class_of(kSize), terms), within);
    Table table;
    table.begin(terms);
    EXPECT_EQ(table.next_untimed(kSize, 4), Candidate{AlgorithmChoice::memory});
  }
}

TEST(SiblingLearning, ReproducibleSumsHaveOneOrder) {
  for (const bool reproducible : {false, true}) {
    Terms terms = sibling_terms(Collective::reduce_scatter);
    terms.plan.reproducible = reproducible;
    for (const Candidate& way : candidates(size_class_of(kSize), terms))
      EXPECT_TRUE(!reproducible || way.algorithm == AlgorithmChoice::ring || way.algorithm == AlgorithmChoice::mesh);
    EXPECT_EQ(candidates(size_class_of(kSize), terms).size(), reproducible ? 2u : 4u);
    terms.collective = Collective::allgather;
    EXPECT_EQ(candidates(size_class_of(kSize), terms).size(), 4u) << "nothing is added up";
  }
}

/// Calls that do not block before the size is known, and all without learning. A mesh has no lanes among 64 ranks.
TEST(SiblingLearning, ReproducibleSumsHaveOneOrderBeforeAnythingIsMeasured) {
  using enum AlgorithmChoice;
  for (const int ranks : {16, 64})
    for (const Collective collective : {Collective::broadcast, Collective::reduce, Collective::reduce_scatter})
      for (const bool reproducible : {false, true}) {
        Terms terms = sibling_terms(collective);
        terms.ranks = ranks;
        terms.plan.reproducible = reproducible;
        Table learns, fixed;
        learns.begin(terms);
        terms.plan.learn = false;
        fixed.begin(terms);
        bool halves = false;
        for (std::size_t bytes = 4; bytes <= std::size_t{16} << 20; bytes *= 2) {
          const Candidate way = learns.next_untimed(bytes, 4);
          EXPECT_EQ(fixed.next(bytes, 4), way);
          EXPECT_NE(way.algorithm, incumbent);
          EXPECT_TRUE(way.algorithm != mesh || terms.plan.meshes(ranks));
          halves = halves || way.algorithm == halving;
        }
        const bool has_fewer_steps = ranks > 16 || has_root(collective);
        const bool pinned = reproducible && collective != Collective::broadcast;
        EXPECT_EQ(halves, has_fewer_steps && !pinned) << name_of(collective) << " among " << ranks;
      }
}

}  // namespace
}  // namespace nezha::test
