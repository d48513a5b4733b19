// SPDX-License-Identifier: BSD-3-Clause
/// What a table finds of each size class, at what cost, and what it may choose from.
#include <gtest/gtest.h>

#include <random>

#include "table_ranks.h"

namespace nezha {
namespace {

TEST(Table, FindsTheFastestInAFewCalls) {
  for (const AlgorithmChoice fastest : {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::incumbent}) {
    Ranks ranks(learning());
    const auto time = times({{fastest, 500}});
    ranks.calls(49, kSize, time);
    EXPECT_EQ(ranks.stage(kSize), SizeClass::Stage::settled);
    EXPECT_EQ(ranks.chosen(kSize).algorithm, fastest);
    EXPECT_EQ(ranks.calls(10, kSize, time).algorithm, fastest);
  }
}

TEST(Table, TheFirstCallUsesWhatThePlanSays) {
  Ranks ranks(learning());
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, kSize, std::size_t{16} << 20})
    EXPECT_EQ(ranks.call(bytes, times({})).algorithm, learning().plan.choose(bytes, 4, 4));
}

/// Calls until what is fastest carries all of them.
std::uint64_t found_after(std::size_t bytes, const Ranks::Duration& duration) {
  Ranks ranks(learning());
  ranks.calls(200, bytes, duration);
  return ranks.at(2).size_class(size_class_of(bytes))->found_after();
}

/// The more of them where another one than the first has to be confirmed, and is not far ahead of it.
TEST(Table, TheFastestIsFoundInAFewCalls) {
  using enum AlgorithmChoice;
  EXPECT_LE(found_after(8, times({{doubling, 70}, {incumbent, 75}, {single_step, 90}})), 8U);
  EXPECT_LE(found_after(8, times({{doubling, 70}, {incumbent, 75}, {single_step, 60}})), 28U);
  EXPECT_LE(found_after(8, times({{doubling, 70}, {incumbent, 60}, {single_step, 90}})), 26U);
  EXPECT_LE(found_after(8192, times({{doubling, 110}, {incumbent, 140}, {mesh, 130}, {single_step, 150}})), 20U);
  EXPECT_LE(found_after(1 << 20, times({{ring, 6700}, {mesh, 7000}, {incumbent, 12000}})), 20U);
  EXPECT_LE(found_after(32768, times({{ring, 300}, {incumbent, 310}, {mesh, 210}, {halving, 290}})), 13U);
  EXPECT_LE(found_after(1 << 20, times({{ring, 7000}, {mesh, 6700}, {incumbent, 12000}})), 20U);
}

/// By how much more time the first thousand calls take than if the best way had been known, as a part of theirs: in trials of
/// slower ways, and in agreements of `meeting` microseconds each.
double cost_of_learning(std::size_t bytes, double meeting, const Ranks::Duration& duration) {
  constexpr int kCalls = 1000;
  Terms terms = learning();
  terms.rails = true;
  Ranks ranks(terms);
  double time = 0, best = 0;
  for (int i = 0; i < kCalls; ++i) {
    const double took = duration(ranks.call(bytes, duration), 0);
    time += took;
    best = i == 0 ? took : std::min(best, took);
  }
  return (time + static_cast<double>(ranks.agreements()) * meeting) / (kCalls * best) - 1;
}

TEST(Table, LearningCostsLittle) {
  using enum AlgorithmChoice;
  EXPECT_LE(cost_of_learning(8, 70, times({{doubling, 70}, {incumbent, 75}, {single_step, 90}, {mesh, 95}})), 0.015);
  EXPECT_LE(cost_of_learning(8192, 80, times({{doubling, 110}, {incumbent, 140}, {mesh, 130}, {single_step, 150}, {halving, 160}, {ring, 200}})), 0.015);
  EXPECT_LE(cost_of_learning(65536, 80, times({{mesh, 250}, {ring, 330}, {incumbent, 400}, {halving, 340}})), 0.015);
  EXPECT_LE(cost_of_learning(1 << 20, 100, times({{ring, 6700}, {mesh, 7000}, {incumbent, 12000}, {halving, 8000}})), 0.005);
}

/// At half the size it is known already what is far behind; a way that comes to the front is found all the same.
TEST(Table, ANeighbourSparesTrials) {
  using enum AlgorithmChoice;
  const auto before = times({{doubling, 100}, {single_step, 110}, {mesh, 115}, {halving, 150}, {incumbent, 160}});
  const auto after = times({{mesh, 140}, {single_step, 150}, {doubling, 160}, {halving, 200}, {incumbent, 210}});
  Ranks ranks(learning());
  std::vector<Candidate> tried;
  ranks.calls(60, 4096, before);
  for (int i = 0; i < 49; ++i) tried.push_back(ranks.call(8192, after));
  for (const AlgorithmChoice behind : {halving, incumbent}) EXPECT_EQ(std::count(tried.begin(), tried.end(), Candidate{behind}), 0);
  EXPECT_EQ(ranks.chosen(8192).algorithm, mesh);
}

TEST(Table, WhatIsFastestAtHalfTheSizeComesFirst) {
  using enum AlgorithmChoice;
  Ranks ranks(learning());
  ranks.calls(60, 4096, times({{mesh, 100}}));
  ASSERT_EQ(ranks.chosen(4096).algorithm, mesh);
  EXPECT_EQ(ranks.call(8192, times({})).algorithm, mesh);
}

TEST(Table, WhereANeighbourMisleadsALookPutsItRight) {
  using enum AlgorithmChoice;
  Ranks ranks(learning());
  ranks.calls(60, 4096, times({{doubling, 100}, {single_step, 110}, {mesh, 115}, {halving, 150}, {incumbent, 160}}));
  const auto time = times({{incumbent, 140}, {mesh, 200}, {single_step, 200}, {doubling, 200}});
  ranks.calls(30, 8192, time);
  EXPECT_NE(ranks.chosen(8192).algorithm, incumbent);
  EXPECT_EQ(ranks.calls(20000, 8192, time).algorithm, incumbent);
}

/// Open MPI's connections, buffers of an algorithm's own: the first call of a way may take many times what it takes then.
TEST(Table, WhatAFirstCallTakesDoesNotCount) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{8192}}) {  // with few candidates, and with many
    Ranks ranks(learning());
    std::vector<Candidate> seen;
    const auto usual = times({{AlgorithmChoice::doubling, 400}});
    const Ranks::Duration cold = [&](const Candidate& way, int rank) {
      const bool known = std::find(seen.begin(), seen.end(), way) != seen.end();
      if (!known && rank == 3) seen.push_back(way);
      return (known ? 1 : 2) * usual(way, rank) + (seen.empty() ? 2000 : 0);
    };
    EXPECT_EQ(ranks.calls(30, bytes, cold).algorithm, AlgorithmChoice::doubling) << bytes;
  }
}

/// A segment's pages, or ranks that are asleep: a way may be cold for longer than its trial lasts. Open MPI's way, which
/// is warm at once, is ahead until the other one has had its confirmation.
TEST(Table, WhatIsColdForSomeCallsIsNotGivenUp) {
  Terms terms = learning();
  terms.nodes = 1;
  Ranks ranks(terms);
  const auto usual = times({{AlgorithmChoice::memory, 7}, {AlgorithmChoice::incumbent, 16}});
  int calls = 0;
  const Ranks::Duration time = [&](const Candidate& way, int rank) {
    const bool cold = way.algorithm == AlgorithmChoice::memory && calls++ / 4 < 6;
    return usual(way, rank) * (cold ? 3 : 1);
  };
  EXPECT_EQ(ranks.calls(100, 16384, time).algorithm, AlgorithmChoice::memory);
}

/// A job begins with disturbed calls; of one way at least it must be known what it takes.
TEST(Table, WhatTheFirstCallsSufferDoesNotCount) {
  Terms terms = learning();
  terms.plan.mesh_block = 0;
  Ranks ranks(terms);
  const auto usual = times({{AlgorithmChoice::ring, 400}, {AlgorithmChoice::incumbent, 450}});
  int calls = 0;
  const Ranks::Duration time = [&](const Candidate& way, int rank) {
    const bool disturbed = calls / 4 < 12 && way.algorithm != AlgorithmChoice::incumbent;
    ++calls;
    return usual(way, rank) * (disturbed ? 3 : 1);
  };
  EXPECT_EQ(ranks.calls(100, kSize, time).algorithm, AlgorithmChoice::ring);
}

/// A root that only hands its bytes on is done at once, however long the others wait: the mean would prefer mesh, and in a
/// confirmation ranks so far apart would look like the application's imbalance.
TEST(Table, OfACallWithARootTheSlowestRankCounts) {
  using enum AlgorithmChoice;
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    Terms terms = learning();
    terms.collective = collective;
    Ranks ranks(terms);
    const Ranks::Duration time = [](const Candidate& way, int rank) {
      if (way.algorithm == ring) return 300.0;
      return way.algorithm != mesh ? 900.0 : rank == 3 ? 400.0 : 20.0;
    };
    EXPECT_EQ(ranks.calls(60, kSize, time).algorithm, ring);
    EXPECT_EQ(ranks.stage(kSize), SizeClass::Stage::settled);
    const Ranks::Duration other = [](const Candidate& way, int rank) {
      return way.algorithm != mesh ? 900.0 : rank == 3 ? 400.0 : 20.0;
    };
    EXPECT_EQ(ranks.calls(3000, kSize, other).algorithm, mesh);
  }
}

/// Ranks come late by far more than the algorithms differ.
TEST(Table, TheImbalanceOfTheApplicationIsNotMeasured) {
  Ranks ranks(learning());
  std::mt19937 random(1);
  ranks.late = [&](int) { return random() % 100000; };
  const Ranks::Duration time = [&](const Candidate& candidate, int) {
    return candidate.algorithm == AlgorithmChoice::ring ? 500 : 600;
  };
  EXPECT_EQ(ranks.calls(3000, kSize, time).algorithm, AlgorithmChoice::ring);
}

/// A rank that has everything it needs at once does not tell how fast a way is: the others wait for what it sends.
TEST(Table, AllRanksCount) {
  Ranks ranks(learning());
  const Ranks::Duration time = [](const Candidate& candidate, int rank) {
    if (candidate.algorithm == AlgorithmChoice::ring) return 500;
    return rank == 2 ? 50 : 700;
  };
  EXPECT_EQ(ranks.calls(300, kSize, time).algorithm, AlgorithmChoice::ring);
}

TEST(Table, NoiseDoesNotHideTheFastest) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Ranks ranks(learning());
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(0.8, 1.2);
    const Ranks::Duration time = [&](const Candidate& candidate, int) {
      const double disturbed = random() % 50 == 0 ? 10 : 1;
      return (candidate.algorithm == AlgorithmChoice::ring ? 500 : 800) * noise(random) * disturbed;
    };
    ranks.calls(2500, kSize, time);
    EXPECT_EQ(ranks.chosen(kSize).algorithm, AlgorithmChoice::ring) << "seed " << seed;
  }
}

/// Each rank measures and notices what it likes; call() sees to it that all choose the same.
TEST(Table, AllChooseAlikeWhateverEachMeasures) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Terms terms = learning(5);
    terms.rails = true;
    Ranks ranks(terms);
    std::mt19937 random(seed);
    const Ranks::Duration time = [&](const Candidate&, int) { return static_cast<double>(random() % 1000); };
    for (int i = 0; i < 3000; ++i) {
      if (random() % 50 == 0) ranks.at(random() % 5).ask_for_retrial();
      if (random() % 2000 == 0) ranks.at(random() % 5).ask_to_exclude_incumbent();
      ranks.call(std::size_t{8} << random() % 20, time);
    }
  }
}

TEST(Table, ReproducibleKeepsTheOrderOfSums) {
  Terms terms = learning();
  terms.plan.reproducible = true;
  Ranks ranks(terms);
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const AlgorithmChoice used =
        ranks.call(std::size_t{4} << random() % 16, [&](const Candidate&, int) { return random() % 1000; }).algorithm;
    ASSERT_TRUE(used == AlgorithmChoice::ring || used == AlgorithmChoice::mesh || used == AlgorithmChoice::single_step);
  }
}

TEST(Table, AFixedAlgorithmIsNotLeft) {
  Terms terms = learning();
  terms.plan.algorithm = AlgorithmChoice::ring;
  Ranks ranks(terms);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(ranks.call(kSize, [&](const Candidate&, int) { return random() % 1000; }).algorithm, AlgorithmChoice::ring);
  EXPECT_EQ(ranks.agreements(), 0u);
}

TEST(Table, WithoutLearningThePlanDecides) {
  Terms terms = learning();
  terms.plan.learn = false;
  Ranks ranks(terms);
  for (int i = 0; i < 600; ++i)
    ASSERT_EQ(ranks.call(kSize, times({{AlgorithmChoice::incumbent, 1}})), Candidate{terms.plan.choose(kSize, 4, 4)});
  EXPECT_EQ(ranks.agreements(), 0u);
}

/// Sizes of all classes in any order: classes learn beside one another.
TEST(Table, ManyClassesAtOnce) {
  Ranks ranks(learning(7));
  std::mt19937 random(5);
  const auto time = times({{AlgorithmChoice::ring, 300}});
  for (int i = 0; i < 20000; ++i) {
    const std::size_t size = std::size_t{1} << (16 + random() % 8);
    ranks.call(size + random() % size, time);
  }
  for (std::size_t shift = 16; shift < 24; ++shift)
    EXPECT_EQ(ranks.chosen(std::size_t{1} << shift).algorithm, AlgorithmChoice::ring) << shift;
}

}  // namespace
}  // namespace nezha
