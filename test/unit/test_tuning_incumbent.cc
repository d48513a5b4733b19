// SPDX-License-Identifier: BSD-3-Clause
/// A table whose ranks lose lanes: how soon the incumbent is left alone, what that costs, and when it comes back.
#include <gtest/gtest.h>

#include "table_ranks.h"

namespace nezha {
namespace {

/// After few calls and after many, when agreements on baselines have become rare.
TEST(Table, TheIncumbentIsLeftAloneOnceARankAsks) {
  const auto time = times({{AlgorithmChoice::incumbent, 100}});
  for (const std::size_t before : {40u, 40000u}) {
    for (const std::size_t bytes : {std::size_t{8}, kSize}) {
      Ranks ranks(learning());
      ASSERT_EQ(ranks.calls(before, bytes, time).algorithm, AlgorithmChoice::incumbent);
      ranks.at(3).ask_to_exclude_incumbent();
      ranks.calls(300, bytes, time);
      for (int i = 0; i < 3000; ++i) ASSERT_NE(ranks.call(bytes, time).algorithm, AlgorithmChoice::incumbent);
      for (int i = 0; i < 100; ++i) ASSERT_NE(ranks.call(3 * bytes, time).algorithm, AlgorithmChoice::incumbent);
    }
  }
}

/// A lane that is lost before the first call.
TEST(Table, TheIncumbentIsLeftAloneWhereARankHasAskedBeforeItBegins) {
  Table table;
  table.ask_to_exclude_incumbent();
  table.begin(learning(1));
  for (int i = 0; i < 300; ++i) {
    while (table.agreement_due(kSize, 4)) {
      (void)table.words();
      table.agreed();
    }
    const Candidate way = table.next(kSize, 4);
    ASSERT_NE(way.algorithm, AlgorithmChoice::incumbent);
    table.took(1000 * kMicrosecond);
  }
}

/// Each rank may lose a lane while the words are on their way.
TEST(Table, TheIncumbentIsLeftAloneWhereARankAsksInTheMiddleOfAnAgreement) {
  Table table;
  table.begin(learning(1));
  bool asked = false, told = false;
  for (int i = 0; i < 3000; ++i) {
    while (table.agreement_due(8, 4)) {
      (void)table.words();
      told = asked;
      if (i >= 300 && !asked) table.ask_to_exclude_incumbent(), asked = true;
      table.agreed();
    }
    const Candidate way = table.next(8, 4);
    ASSERT_TRUE(!told || way.algorithm != AlgorithmChoice::incumbent);
    table.took((way.algorithm == AlgorithmChoice::incumbent ? 10 : 1000) * kMicrosecond);
  }
  EXPECT_TRUE(told);
}

/// Four ranks, one of which has lost a lane after some calls that the incumbent had.
class LostLane : public testing::Test {
 protected:
  void lose(Ranks& ranks) {
    EXPECT_EQ(ranks.calls(1000, 8, time).algorithm, AlgorithmChoice::incumbent);
    ranks.at(2).ask_to_exclude_incumbent();
    EXPECT_NE(ranks.calls(200, 8, time).algorithm, AlgorithmChoice::incumbent);
  }
  /// Calls after which the incumbent carries again, kMost at most. Every so many a rank says that it still lacks a lane.
  std::size_t back_after(Ranks& ranks, std::size_t lacks_every = kMost + 1) {
    for (std::size_t call = 1; call < kMost; ++call) {
      if (call % lacks_every == 0) ranks.at(1).ask_to_exclude_incumbent();
      if (ranks.call(8, time).algorithm == AlgorithmChoice::incumbent) return call;
    }
    return kMost;
  }

  static constexpr std::size_t kMost = 200'000;
  const Ranks::Duration time = times({{AlgorithmChoice::incumbent, 100}});
  Terms terms = learning();
};

/// Where it has other networks than the rails, so that it may not run over the lane at all.
TEST_F(LostLane, TheIncumbentComesBackAfterLongCalm) {
  Ranks ranks(terms);
  lose(ranks);
  const std::size_t first = back_after(ranks);
  EXPECT_GT(first, 50'000u);
  lose(ranks);
  const std::size_t second = back_after(ranks);
  EXPECT_GT(second, first + first / 2) << "it takes longer each time";
  EXPECT_LT(second, kMost);
}

TEST_F(LostLane, TheIncumbentStaysAwayWhileARankLacksIt) {
  Ranks ranks(terms);
  lose(ranks);
  EXPECT_EQ(back_after(ranks, 5000), kMost);
}

/// Connections of its own may not have survived that.
TEST_F(LostLane, TheIncumbentStaysAwayIfItHasNoNetworkButTheRails) {
  terms.incumbent_on_rails = true;
  Ranks ranks(terms);
  lose(ranks);
  EXPECT_EQ(back_after(ranks), kMost);
}

/// A retrial comes between two agreements on baselines, and so do the first calls of another size.
TEST(Table, TheIncumbentIsNotTriedOnceARankAsks) {
  using enum AlgorithmChoice;
  const auto time = times({{doubling, 70}, {incumbent, 75}, {single_step, 90}, {mesh, 95}});
  const auto at_first = times({{mesh, 400}, {incumbent, 390}});
  std::size_t retrial = 20000;
  Ranks calm(learning());
  calm.calls(retrial, 8, time);
  while (retrial < 60000 && calm.call(8, time).algorithm != incumbent) ++retrial;
  ASSERT_LT(retrial, 60000u);
  for (const std::size_t before : {retrial - 10, retrial - 1}) {
    Ranks ranks(learning());
    ranks.calls(before, 8, time);
    ranks.at(3).ask_to_exclude_incumbent();
    for (int i = 0; i < 9000; ++i) ASSERT_NE(ranks.call(8, time).algorithm, incumbent) << "a retrial " << i;
  }
  Ranks ranks(learning());
  ranks.calls(1000, 8, time);
  ranks.at(3).ask_to_exclude_incumbent();
  for (int i = 0; i < 60; ++i) ASSERT_NE(ranks.call(kSize, at_first).algorithm, incumbent) << "another size";
}

/// Ranks meet in agreements on that. Where they come at different times to calls that take long, a confirmation must have none: it
/// would be of the incumbent's calls alone.
TEST(Table, TheIncumbentIsNotFavouredByAgreements) {
  for (const double slower : {1.0, 1.1}) {
    Terms terms = learning();
    terms.plan.incumbent_margin = 20;
    Ranks ranks(terms);
    ranks.late = [](int rank) { return rank == 3 ? 12000.0 : 0.0; };
    const auto time = [&](const Candidate& candidate, int) {
      return candidate.algorithm == AlgorithmChoice::incumbent ? slower * 20000 : 20000;
    };
    EXPECT_NE(ranks.calls(400, 1 << 20, time).algorithm, AlgorithmChoice::incumbent) << slower;
  }
}

/// Agreements that find out in time whether a rank asks cost less than a per cent, however fast the incumbent is.
TEST(Table, WhatIsLeftToTheIncumbentIsSlowedDownLittle) {
  for (const double took : {3.0, 20.0, 100.0}) {
    constexpr double kMeeting = 80;  // us
    Ranks ranks(learning());
    const auto time = times({{AlgorithmChoice::incumbent, took}});
    ranks.calls(2000, 8, time);
    const std::size_t before = ranks.agreements();
    ranks.calls(100000, 8, time);
    EXPECT_LE(static_cast<double>(ranks.agreements() - before) * kMeeting, 0.01 * 100000 * took) << took;
  }
}

}  // namespace
}  // namespace nezha
