// SPDX-License-Identifier: BSD-3-Clause
/// A table that has found the fastest way tries again: when it has reason to, when it is asked, and no more often.
#include <gtest/gtest.h>

#include <random>

#include "table_ranks.h"
#include "tuning/usual_time.h"

namespace nezha {
namespace {

TEST(UsualTime, IsTheLeastOfEachGroupAndOfferedOnce) {
  UsualTime baseline;
  for (const std::uint64_t duration : {90, 80, 70, 80, 90, 95, 99}) baseline.took(duration);
  EXPECT_EQ(baseline.take(), UsualTime::kUnknown);
  baseline.took(75);
  EXPECT_EQ(baseline.take(), 70U);
  EXPECT_EQ(baseline.take(), UsualTime::kUnknown);
  for (int i = 0; i < 7; ++i) baseline.took(10);
  baseline.interrupt();
  for (int i = 0; i < 8; ++i) baseline.took(50);
  EXPECT_EQ(baseline.take(), 50U);
}

TEST(UsualTime, RisesAboveWhatIsUsualAndFallsWithIt) {
  UsualTime baseline;
  EXPECT_TRUE(baseline.risen(140, 100));
  EXPECT_FALSE(baseline.risen(120, 100));
  EXPECT_FALSE(baseline.risen(150, 1)) << "120 is usual now";
  EXPECT_FALSE(baseline.risen(60, 1));
  EXPECT_TRUE(baseline.risen(100, 1)) << "60 is usual now";
  baseline.set_usual(UsualTime::kUnknown);
  EXPECT_FALSE(baseline.risen(100, UsualTime::kUnknown));
  EXPECT_TRUE(baseline.risen(140, 1)) << "100 is usual now";
}

TEST(Table, EqualsDoNotTakeTurns) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Ranks ranks(learning());
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(0.97, 1.03);
    const Ranks::Duration time = [&](const Candidate&, int) { return 500 * noise(random); };
    ranks.calls(30, kSize, time);
    Candidate chosen = ranks.chosen(kSize);
    int changes = 0;
    for (int i = 0; i < 20000; ++i) {
      ranks.call(kSize, time);
      changes += ranks.chosen(kSize) == chosen ? 0 : 1;
      chosen = ranks.chosen(kSize);
    }
    EXPECT_LE(changes, 1) << "seed " << seed;
  }
}

TEST(Table, FollowsAChange) {
  Ranks ranks(learning());
  ASSERT_EQ(ranks.calls(200, kSize, times({{AlgorithmChoice::mesh, 400}})).algorithm, AlgorithmChoice::mesh);
  const auto after = times({{AlgorithmChoice::mesh, 1500}, {AlgorithmChoice::ring, 700}});
  EXPECT_EQ(ranks.calls(600, kSize, after).algorithm, AlgorithmChoice::ring);
}

/// A change after a long time of calm: retrials have become rare, but baselines still tell.
TEST(Table, FollowsALateChange) {
  Ranks ranks(learning());
  ranks.calls(50000, kSize, times({{AlgorithmChoice::mesh, 400}}));
  const auto after = times({{AlgorithmChoice::mesh, 1500}, {AlgorithmChoice::ring, 700}});
  EXPECT_EQ(ranks.calls(2500, kSize, after).algorithm, AlgorithmChoice::ring);
}

/// The same of calls with a root, which hands its bytes on and is done, however long the others wait.
TEST(Table, FollowsALateChangeThatARootDoesNotNotice) {
  using enum AlgorithmChoice;
  for (std::size_t before = 40000; before < 60000; before += 4000) {  // of these some are just before a retrial
    Terms terms = learning();
    terms.collective = before % 8000 == 0 ? Collective::broadcast : Collective::reduce;
    Ranks ranks(terms);
    const auto slowest = [](double mesh_takes, double ring_takes) {
      return [=](const Candidate& way, int rank) {
        if (rank == 0) return 15.0;
        return way.algorithm == mesh ? mesh_takes : way.algorithm == ring ? ring_takes : 2000.0;
      };
    };
    ASSERT_EQ(ranks.calls(before, kSize, slowest(400, 1000)).algorithm, mesh);
    EXPECT_EQ(ranks.calls(2500, kSize, slowest(1500, 700)).algorithm, ring) << before;
  }
}

/// A root that is always late keeps the others waiting; one that is done at once varies by more than all others.
TEST(Table, NeitherALateRootNorItsJitterIsAReasonToLook) {
  using enum AlgorithmChoice;
  for (const double late : {0.0, 3000.0}) {
    Terms terms = learning();
    terms.collective = Collective::broadcast;
    Ranks ranks(terms);
    int call = 0;
    const Ranks::Duration time = [&](const Candidate& way, int rank) {
      if (rank == 0) return late == 0 && call++ / 500 % 2 == 0 ? 10.0 : 30.0;
      return way.algorithm == mesh ? 400.0 : 500.0;
    };
    ranks.calls(1000, kSize, time);
    ranks.late = [late](int rank) { return rank == 0 ? late : 0; };
    ranks.calls(20000, kSize, time);
    std::size_t others = 0;
    for (int i = 0; i < 20000; ++i) others += ranks.call(kSize, time).algorithm == mesh ? 0 : 1;
    EXPECT_LE(others, 60u) << late;
  }
}

/// What changed several times is not what it must be faster than by a quarter for good.
TEST(Table, FollowsASmallChangeAfterManyLargeOnes) {
  using enum AlgorithmChoice;
  Ranks ranks(learning());
  ranks.calls(200, kSize, times({{AlgorithmChoice::ring, 500}}));
  for (const AlgorithmChoice faster : {mesh, halving, mesh, halving, mesh}) {
    ranks.at(0).ask_for_retrial();
    ASSERT_EQ(ranks.calls(3000, kSize, times({{faster, 200}})).algorithm, faster);
  }
  EXPECT_EQ(ranks.calls(60000, kSize, times({{mesh, 500}, {halving, 410}})).algorithm, halving);
}

/// `way` is fast for `few` calls in a row and slow from then on, as where a shape lets a burst through.
Ranks::Duration flattering(const Candidate& way, int& run, const Ranks::Duration& usual, int few = 7) {
  return [way, &run, usual, few](const Candidate& used, int rank) {
    if (rank == 0) run = used == way ? run + 1 : 0;
    return used != way ? usual(used, rank) : run > few ? 700.0 : 390.0;
  };
}

const auto kUsual = times({{AlgorithmChoice::mesh, 430}, {AlgorithmChoice::ring, 460}});

TEST(Table, WhatIsFastInTrialsOnlyIsNotTaken) {
  Terms terms = learning();
  terms.rails = true;
  Ranks ranks(terms);
  const Candidate way{AlgorithmChoice::ring, 0, true};
  int run = 0, flattered = 0;
  const auto time = flattering(way, run, kUsual);
  for (int i = 0; i < 20000; ++i) {
    flattered += ranks.call(kSize, time) == way ? 1 : 0;
    if (i == 64) {
      EXPECT_EQ(ranks.chosen(kSize), Candidate{AlgorithmChoice::mesh});
    }
  }
  EXPECT_LE(flattered, 200);
}

TEST(Table, WhatIsFastInTrialsOnlyIsFoundOutSoon) {
  const auto usual = times({{AlgorithmChoice::ring, 430}, {AlgorithmChoice::mesh, 460}});
  Terms terms = learning();
  terms.rails = true;
  for (const Candidate& way : {Candidate{AlgorithmChoice::incumbent}, Candidate{AlgorithmChoice::ring, 0, true}}) {
    for (const int few : {3, 5, 7}) {
      Ranks ranks(terms);
      int run = 0;
      ranks.calls(60, kSize, flattering(way, run, usual, few));
      EXPECT_EQ(ranks.chosen(kSize), Candidate{AlgorithmChoice::ring});
      EXPECT_LE(ranks.at(0).size_class(size_class_of(kSize))->found_after(), few < 7 ? 24U : 32U) << few;
    }
  }
}

/// The first search expects that ways on all rails are flattered alike.
TEST(Table, ALookPutsRightWhatWasFlatteredAlone) {
  Ranks ranks(learning());
  const Candidate way{AlgorithmChoice::halving};
  int run = 0, flattered = 0;
  const auto time = flattering(way, run, kUsual);
  for (int i = 0; i < 20000; ++i) flattered += ranks.call(kSize, time) == way ? 1 : 0;
  EXPECT_EQ(ranks.chosen(kSize), Candidate{AlgorithmChoice::mesh});
  EXPECT_LE(flattered, 1500);
}

/// Each would cost a confirmation of its own.
TEST(Table, WhatFlattersOneWayOnOneRailFlattersAll) {
  Terms terms = learning();
  terms.rails = true;
  Ranks ranks(terms);
  const auto usual = times({{AlgorithmChoice::ring, 450}, {AlgorithmChoice::mesh, 430}});
  int run = 0, narrow = 0;
  const Ranks::Duration time = [&](const Candidate& way, int rank) {
    if (rank == 0) run = way.one_rail ? run + 1 : 0;
    return !way.one_rail ? usual(way, rank) : run > 6 ? 700.0 : way.algorithm == AlgorithmChoice::ring ? 380.0 : 390.0;
  };
  for (int i = 0; i < 200; ++i) narrow += ranks.call(kSize, time).one_rail ? 1 : 0;
  EXPECT_EQ(ranks.chosen(kSize).algorithm, AlgorithmChoice::mesh);
  EXPECT_FALSE(ranks.chosen(kSize).one_rail);
  EXPECT_LE(narrow, 24) << "trials of both, and one confirmation";
}

/// Where trials make all ways look faster than they are, the rest need no confirmation after the chosen one.
TEST(Table, WhatFlattersAllAlikeChangesNothing) {
  Ranks ranks(learning());
  const auto usual = times({{AlgorithmChoice::ring, 430}, {AlgorithmChoice::mesh, 460}, {AlgorithmChoice::halving, 480}});
  Candidate before{};
  int run = 0;
  const Ranks::Duration time = [&](const Candidate& way, int rank) {
    if (rank == 0) run = way == before ? run + 1 : 0;
    before = way;
    return usual(way, rank) * (run > 6 ? 1.5 : 1);
  };
  ranks.calls(60, kSize, time);
  EXPECT_EQ(ranks.chosen(kSize).algorithm, AlgorithmChoice::ring);
  EXPECT_LE(ranks.at(0).size_class(size_class_of(kSize))->found_after(), 13U);
}

TEST(Table, WhatBecomesFasterByItselfIsNoReasonToLook) {
  Ranks ranks(learning());
  double factor = 3;
  const auto usual = times({{AlgorithmChoice::doubling, 70}, {AlgorithmChoice::mesh, 80}});
  const Ranks::Duration time = [&](const Candidate& way, int rank) { return factor * usual(way, rank); };
  ranks.calls(300, 8, time);
  factor = 1;
  for (int i = 0; i < 700; ++i) ASSERT_EQ(ranks.call(8, time).algorithm, AlgorithmChoice::doubling) << i;
}

TEST(Table, AnyRankMayAskForALook) {
  Ranks ranks(learning());
  const auto before = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 700}});
  ranks.calls(300, kSize, before);
  // The mesh is as it was, the ring has become faster: nobody's times tell.
  const auto after = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 300}});
  ranks.at(2).ask_for_retrial();
  EXPECT_EQ(ranks.calls(300, kSize, after).algorithm, AlgorithmChoice::ring);
}

TEST(Table, MeasuresAnewOnceItKnowsTheRates) {
  Terms terms = learning();
  terms.rate = 0;
  Ranks ranks(terms);
  const auto before = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 700}});
  const auto after = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 300}});
  EXPECT_EQ(ranks.calls(300, kSize, before).algorithm, AlgorithmChoice::mesh);
  for (std::size_t rank = 0; rank < 4; ++rank) ranks.at(rank).learn_rates(0.25, 0.125);
  EXPECT_EQ(ranks.calls(300, kSize, after).algorithm, AlgorithmChoice::ring);
}

TEST(Table, OneWhoAsksOnceGetsOneLook) {
  Ranks ranks(learning());
  const auto time = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 700}});
  ranks.calls(300, kSize, time);
  ranks.at(2).ask_for_retrial();
  ranks.calls(600, kSize, time);
  std::size_t others = 0;
  for (int i = 0; i < 3000; ++i) others += ranks.call(kSize, time).algorithm == AlgorithmChoice::mesh ? 0 : 1;
  EXPECT_LE(others, 12U);
}

TEST(Table, WhatIsAskedInTheMiddleOfARoundIsNotForgotten) {
  Ranks ranks(learning());
  const auto before = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 700}});
  ranks.calls(2, kSize, before);
  ranks.at(2).ask_for_retrial();
  ranks.calls(30, kSize, before);
  const auto after = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 300}});
  EXPECT_EQ(ranks.calls(600, kSize, after).algorithm, AlgorithmChoice::ring);
}

/// As where a rail comes and goes all the time.
TEST(Table, LooksDoNotFollowOneAnotherHoweverOftenARankAsks) {
  Ranks ranks(learning());
  const auto time = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 700}});
  double all = 0;
  for (int i = 0; i < 3000; ++i) {
    ranks.at(1).ask_for_retrial();
    all += time(ranks.call(kSize, time), 0);
  }
  EXPECT_LT(all, 1.06 * 3000 * 400);
}

}  // namespace
}  // namespace nezha
