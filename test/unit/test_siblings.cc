// SPDX-License-Identifier: BSD-3-Clause
/// The collectives beside allreduce, on whole cores over a simulated network: every one by every algorithm, with blocks
/// of any sizes, any root and any rank late. Sums have the bits of the ring order, or, by halving, those of an
/// allreduce of one block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "cluster.h"
#include "slowed_down.h"
#include "table_ranks.h"
#include "tuning/siblings.h"

namespace nezha::test {
namespace {

using Floats = std::vector<float>;
using Counts = std::vector<std::size_t>;

constexpr AlgorithmChoice kAlgorithms[] = {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::halving};
constexpr float kUntouched = -7.25f;

/// Sums of these depend on the order.
std::vector<Floats> hostile(std::size_t ranks, std::size_t count, std::uint64_t seed) {
  constexpr float kValues[] = {1e30f, -1e30f, 1e-42f, 3e38f, -3e38f, 1.0f, -0.0f, 16777217.0f, 1e-7f, 0.1f};
  SimRandom random(seed);
  std::vector<Floats> vectors(ranks, Floats(count));
  for (Floats& vector : vectors)
    for (float& value : vector)
      value = kValues[random.below(std::size(kValues))] * static_cast<float>(1 + random.real());
  return vectors;
}

/// The contributions of all ranks to one element, from rank `first` upwards.
float folded(const std::vector<Floats>& sources, std::size_t at, std::size_t first) {
  volatile float sum = sources[first % sources.size()][at];
  for (std::size_t step = 1; step < sources.size(); ++step) sum = sum + sources[(first + step) % sources.size()][at];
  return sum;
}

/// What is a distance away is on the left: see halving.cc.
float halved(const std::vector<Floats>& sources, std::size_t at, std::size_t owner) {
  const std::size_t size = sources.size();
  Floats sums;
  for (std::size_t back = 0; back < size; ++back) sums.push_back(sources[(owner + size - back) % size][at]);
  while (sums.size() > 1) {
    const std::size_t distance = (sums.size() + 1) / 2;
    for (std::size_t i = 0; i + distance < sums.size(); ++i) {
      volatile float sum = sums[i + distance] + sums[i];
      sums[i] = sum;
    }
    sums.resize(distance);
  }
  return sums[0];
}

/// One collective of all ranks, and its memory.
struct Job {
  Collective collective;
  Counts counts;  ///< by rank
  int root = 0;
  bool in_place = false;
  std::vector<Floats> sources;
  std::vector<Floats> send, recv;
  std::vector<OpNumber> numbers;

  Job(Collective collective_, Counts counts_, int root_, bool in_place_, std::uint64_t seed)
      : collective(collective_), counts(std::move(counts_)), root(root_), in_place(in_place_) {
    sources = hostile(counts.size(), total(), seed);
    send = sources;
    recv.assign(counts.size(), {});
    numbers.assign(counts.size(), 0);
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      recv[rank].assign(std::max<std::size_t>(received(rank), 1), kUntouched);
      if (collective == Collective::allgather || collective == Collective::broadcast) {
        const auto begin = sources[rank].begin() + static_cast<std::ptrdiff_t>(first(rank));
        send[rank].assign(begin, begin + static_cast<std::ptrdiff_t>(block(rank)));
        if (place(rank))
          std::copy(send[rank].begin(), send[rank].end(),
                    recv[rank].begin() + static_cast<std::ptrdiff_t>(first(rank)));
      } else if (place(rank)) {
        recv[rank] = send[rank];
      }
    }
  }

  bool rooted() const { return collective == Collective::broadcast || collective == Collective::reduce; }
  bool gathers() const {
    return collective == Collective::allgather || collective == Collective::broadcast ||
           collective == Collective::allreduce;
  }
  std::size_t total() const { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }
  std::size_t block(std::size_t rank) const {
    return rooted() ? (static_cast<int>(rank) == root ? total() : 0) : counts[rank];
  }
  std::size_t first(std::size_t rank) const {
    return rooted()
               ? 0
               : std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
  }
  std::size_t received(std::size_t rank) const {
    if (gathers() || (place(rank) && block(rank) != 0)) return total();
    return block(rank);
  }
  bool place(std::size_t rank) const {
    if (collective == Collective::broadcast) return static_cast<int>(rank) == root;
    if (collective == Collective::reduce) return in_place && static_cast<int>(rank) == root;
    return in_place;
  }

  void begin(Cluster& cluster, std::size_t rank, AlgorithmChoice algorithm, std::size_t chunk) {
    Call call;
    call.collective = collective;
    call.recv = reinterpret_cast<std::byte*>(recv[rank].data());
    call.send = reinterpret_cast<const std::byte*>(send[rank].data());
    if (place(rank)) call.send = call.recv + (collective == Collective::allgather ? first(rank) * sizeof(float) : 0);
    call.count = collective == Collective::barrier ? 1 : total();
    call.counts = counts.data();
    call.root = root;
    call.element = sizeof(float);
    call.chunk = chunk * sizeof(float);
    call.reducer = {find_kernel(NEZHA_FLOAT, NEZHA_SUM), nullptr, nullptr, nullptr, sizeof(float)};
    numbers[rank] = cluster.core(rank).start(cluster.team(rank), call, algorithm);
  }

  float expected(std::size_t at, AlgorithmChoice algorithm) const {
    std::size_t owner = 0;
    while (at >= first(owner) + block(owner)) ++owner;
    if (collective == Collective::allgather || collective == Collective::broadcast) return sources[owner][at];
    return algorithm == AlgorithmChoice::halving ? halved(sources, at, owner) : folded(sources, at, owner + 1);
  }

  ::testing::AssertionResult right(AlgorithmChoice algorithm) const {
    for (std::size_t rank = 0; collective != Collective::barrier && rank < counts.size(); ++rank) {
      const std::size_t begin = gathers() ? 0 : first(rank), count = gathers() ? total() : block(rank);
      for (std::size_t i = 0; i < count; ++i) {
        const float wanted = expected(begin + i, algorithm);
        if (std::memcmp(&wanted, &recv[rank][i], sizeof(float)) != 0)
          return ::testing::AssertionFailure()
                 << "rank " << rank << " has " << recv[rank][i] << " instead of " << wanted << " at " << i;
      }
      if (count == 0 && !place(rank) && recv[rank][0] != kUntouched)
        return ::testing::AssertionFailure() << "rank " << rank << " was written to";
    }
    return ::testing::AssertionSuccess();
  }
};

/// By rank: even, uneven with empty ones, all of one, fewer than ranks.
std::vector<Counts> some_counts(std::size_t ranks) {
  std::vector<Counts> all{Counts(ranks, 700), Counts(ranks, 0), Counts(ranks, 0), Counts(ranks, 1)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all[1][rank] = rank % 3 == 1 ? 0 : 200 * rank + 13;
    if (rank == ranks - 1) all[2][rank] = 5001;
    if (rank > ranks / 2) all[3][rank] = 0;
  }
  return all;
}

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

}  // namespace
}  // namespace nezha::test
