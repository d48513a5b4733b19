// SPDX-License-Identifier: BSD-3-Clause
/// A table whose ranks lose lanes: how soon the incumbent is left alone, and what that costs.
#include <gtest/gtest.h>

#include "table_ranks.h"

namespace nezha {
namespace {

/// After few calls and after many, when agreements on levels have become rare.
TEST(Table, TheIncumbentIsLeftAloneOnceARankAsks) {
  const auto time = times({{AlgorithmChoice::incumbent, 100}});
  for (const std::size_t before : {40u, 40000u}) {
    for (const std::size_t bytes : {std::size_t{8}, kSize}) {
      Ranks ranks(learning());
      ASSERT_EQ(ranks.calls(before, bytes, time).algorithm, AlgorithmChoice::incumbent);
      ranks.at(3).ask_to_bar_incumbent();
      ranks.calls(300, bytes, time);
      for (int i = 0; i < 3000; ++i) ASSERT_NE(ranks.call(bytes, time).algorithm, AlgorithmChoice::incumbent);
      for (int i = 0; i < 100; ++i) ASSERT_NE(ranks.call(3 * bytes, time).algorithm, AlgorithmChoice::incumbent);
    }
  }
}

/// A look comes between two agreements on levels, and so do the first calls of another size.
TEST(Table, TheIncumbentIsNotTriedOnceARankAsks) {
  using enum AlgorithmChoice;
  const auto time = times({{doubling, 70}, {incumbent, 75}, {single_step, 90}, {mesh, 95}});
  const auto at_first = times({{mesh, 400}, {incumbent, 390}});
  std::size_t look = 20000;
  Ranks calm(learning());
  calm.calls(look, 8, time);
  while (look < 60000 && calm.call(8, time).algorithm != incumbent) ++look;
  ASSERT_LT(look, 60000u);
  for (const std::size_t before : {look - 10, look - 1}) {
    Ranks ranks(learning());
    ranks.calls(before, 8, time);
    ranks.at(3).ask_to_bar_incumbent();
    for (int i = 0; i < 9000; ++i) ASSERT_NE(ranks.call(8, time).algorithm, incumbent) << "a look " << i;
  }
  Ranks ranks(learning());
  ranks.calls(1000, 8, time);
  ranks.at(3).ask_to_bar_incumbent();
  for (int i = 0; i < 60; ++i) ASSERT_NE(ranks.call(kSize, at_first).algorithm, incumbent) << "another size";
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
