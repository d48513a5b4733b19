// SPDX-License-Identifier: BSD-3-Clause
/// What is not tried, since the rails' rates say that it cannot win, and by how much the incumbent has to.
#include <gtest/gtest.h>

#include <set>

#include "table_ranks.h"

namespace nezha {
namespace {

using enum AlgorithmChoice;

constexpr std::size_t kLarge = std::size_t{16} << 20;
constexpr double kLeast = 100'663;  ///< us that kLarge takes at least among four ranks at 0.25 bytes/ns

/// Two equal rails, alone, and the incumbent on them too.
Terms on_two_rails() {
  Terms terms = learning();
  terms.rails = terms.alone = terms.incumbent_on_rails = true;
  terms.best_rail = terms.rate / 2;
  return terms;
}

struct Tried {
  std::set<AlgorithmChoice> algorithms;
  bool one_rail = false;
};

Tried tried(const Terms& terms, int calls, const Ranks::Duration& duration) {
  Ranks ranks(terms);
  Tried found;
  for (int i = 0; i < calls; ++i) {
    const Candidate way = ranks.call(kLarge, duration);
    found.algorithms.insert(way.algorithm);
    found.one_rail = found.one_rail || way.one_rail;
  }
  return found;
}

TEST(Bounds, WhatRunsAtTheWiresSpeedIsSettledAtOnce) {
  const Ranks::Duration time = times({{ring, 1.05 * kLeast}, {mesh, 1.2 * kLeast}});
  EXPECT_EQ(tried(on_two_rails(), 2000, time).algorithms, (std::set{ring}));
  Ranks ranks(on_two_rails());
  ranks.calls(4, kLarge, time);
  EXPECT_EQ(ranks.stage(kLarge), SizeClass::Stage::settled);
}

TEST(Bounds, ADisturbanceOfTheFirstCallsCausesNoTrials) {
  int left = 3 * 4;  // of the four ranks' calls
  const auto time = [&left](const Candidate& way, int) {
    return (way.algorithm == ring && left-- > 0 ? 1.5 : 1.05) * kLeast;
  };
  EXPECT_EQ(tried(on_two_rails(), 2000, time).algorithms, (std::set{ring}));
}

TEST(Bounds, WhatIsSlowEachTimeIsComparedWithOthers) {
  Ranks ranks(on_two_rails());
  EXPECT_EQ(
      ranks
          .calls(60, kLarge,
                 times({{ring, 1.5 * kLeast}, {mesh, 1.1 * kLeast}, {halving, 2 * kLeast}, {incumbent, 3 * kLeast}}))
          .algorithm,
      mesh);
}

/// A rate limit's burst or a queue takes a part of the message.
TEST(Bounds, WhatIsALittleFasterThanTheWireIsSettledAtOnce) {
  const auto time =
      times({{ring, 0.75 * kLeast}, {mesh, 0.75 * kLeast}, {halving, 0.75 * kLeast}, {incumbent, 0.75 * kLeast}});
  EXPECT_EQ(tried(on_two_rails(), 60, time).algorithms, (std::set{ring}));
}

TEST(Bounds, OneRailIsNotTriedWhereItsRateIsTooLow) {
  const Tried found =
      tried(on_two_rails(), 200,
            times({{ring, 1.9 * kLeast}, {mesh, 1.8 * kLeast}, {halving, 2 * kLeast}, {incumbent, 3 * kLeast}}));
  EXPECT_EQ(found.algorithms, (std::set{ring, mesh, halving, incumbent}));
  EXPECT_FALSE(found.one_rail);
}

TEST(Bounds, AnIncumbentOfAnotherNetworkIsTried) {
  Terms terms = on_two_rails();
  terms.incumbent_on_rails = false;
  Ranks ranks(terms);
  const auto time = times({{ring, kLeast}, {incumbent, kLeast / 4}});
  EXPECT_EQ(ranks.calls(60, kLarge, time).algorithm, incumbent);
}

TEST(Bounds, RatesThatAreSurpassedSayNothing) {
  const Tried found = tried(on_two_rails(), 60,
                            times({{ring, kLeast / 2}, {mesh, kLeast / 4}, {halving, kLeast}, {incumbent, kLeast}}));
  EXPECT_EQ(found.algorithms, (std::set{ring, mesh, halving, incumbent}));
}

TEST(Bounds, RanksThatShareANodeShareItsRails) {
  Terms terms = on_two_rails();
  terms.alone = false;
  EXPECT_GT(tried(terms, 60, times({{ring, kLeast}})).algorithms.size(), 1U);
}

TEST(Bounds, WhatTheRatesLeaveOutIsFoundLater) {
  Ranks ranks(on_two_rails());
  const auto time = times({{ring, kLeast}, {mesh, kLeast / 3}, {halving, 2 * kLeast}, {incumbent, 2 * kLeast}});
  EXPECT_EQ(ranks.calls(100, kLarge, time).algorithm, ring);
  EXPECT_EQ(ranks.calls(20000, kLarge, time).algorithm, mesh);
}

/// What is chosen at a small size where the incumbent takes `time`, and the others 100 and more.
AlgorithmChoice chosen_beside(std::uint64_t margin, double time) {
  Terms terms = learning();
  terms.plan.incumbent_margin = margin;
  Ranks ranks(terms);
  ranks.calls(300, 8, times({{doubling, 100}, {incumbent, time}}));
  return ranks.chosen(8).algorithm;
}

TEST(Bounds, TheIncumbentHasToBeFasterByItsMargin) {
  EXPECT_EQ(chosen_beside(20, 90), doubling);
  EXPECT_EQ(chosen_beside(20, 75), incumbent);
  EXPECT_EQ(chosen_beside(0, 90), incumbent);
  EXPECT_EQ(chosen_beside(100, 60), doubling);
}

TEST(Bounds, WithinANodeThereIsNoMargin) {
  Terms terms = learning();
  terms.plan.incumbent_margin = 20;
  terms.nodes = 1;
  Ranks ranks(terms);
  ranks.calls(300, 8, times({{AlgorithmChoice::memory, 100}, {incumbent, 90}}));
  EXPECT_EQ(ranks.chosen(8).algorithm, incumbent);
}

TEST(Bounds, TheMarginIsTheParametersAndTravelsWithThePlan) {
  Config config;
  EXPECT_EQ(Plan::from(config).incumbent_margin, 20U);
  ASSERT_TRUE(set_parameter(config, "incumbent_margin", "35").ok());
  std::array<std::uint64_t, Plan::kWords> words;
  Plan::from(config).encode(words);
  EXPECT_EQ(Plan::decode(words).incumbent_margin, 35U);
}

}  // namespace
}  // namespace nezha
