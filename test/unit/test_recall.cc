// SPDX-License-Identifier: BSD-3-Clause
/// What a table file knows becomes what a team's tables begin with: settled classes, or frozen ones.
#include <gtest/gtest.h>

#include "tuning/rows.h"
#include "tuning/table.h"

namespace nezha {
namespace {

constexpr Shape kShape{4, 4};
constexpr std::size_t kClass = 16;
constexpr std::size_t kSize = std::size_t{1} << kClass;

Rule rule(std::size_t first, std::size_t last, AlgorithmChoice chosen) {
  Rule rule;
  rule.first = first;
  rule.last = last;
  rule.chosen = {chosen};
  return rule;
}

TableFile file(std::vector<Rule> rules) {
  TableFile file;
  file.shapes.push_back({{4, 4}, {}, std::move(rules)});
  return file;
}

Terms terms(bool learn) {
  Terms terms{Plan::from(Config()), kShape.ranks, 0.25};
  terms.plan.learn = learn;
  return terms;
}

/// All ranks are as this one.
void agree(Table& table) {
  for (std::uint64_t& word : table.words())
    if (table.adds()) word *= static_cast<std::uint64_t>(kShape.ranks);
  table.agreed();
}

/// What carries the next calls; each takes 100 us.
std::vector<AlgorithmChoice> calls(Table& table, std::size_t count, std::size_t bytes) {
  std::vector<AlgorithmChoice> carried;
  for (std::size_t i = 0; i < count; ++i) {
    while (table.agreement_due(bytes, 4)) agree(table);
    carried.push_back(table.next(bytes, 4).algorithm);
    table.took(100 * kMicrosecond);
  }
  return carried;
}

TEST(Rows, CarryWhatTheFileKnowsOfTheShape) {
  Rule known = rule(kClass, kClass, AlgorithmChoice::mesh);
  known.chosen.chunk = 4096;
  known.measured = {{known.chosen, 5}, {{AlgorithmChoice::incumbent}, 70}};
  const TableFile some = file({known, rule(20, kSizeClasses - 1, AlgorithmChoice::ring)});
  EXPECT_TRUE(rows_of(some, {5, 4}, {}).empty());
  const std::vector<std::uint64_t> rows = rows_of(some, kShape, {});
  ASSERT_EQ(rows.size(), kRows);
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    const std::optional<Known> row = known_of(rows, i);
    ASSERT_EQ(row.has_value(), i == kClass || i >= 20) << i;
    if (i == kClass) {
      EXPECT_EQ(row->chosen, known.chosen);
      EXPECT_EQ(row->measured, known.measured);
    } else if (row) {
      EXPECT_EQ(row->chosen.algorithm, AlgorithmChoice::ring);
    }
  }
}

TEST(Rows, OfNonsenseAreNothing) {
  const std::vector<std::uint64_t> rows(kRows, 0xffffffffffffffff);
  for (std::size_t i = 0; i < kSizeClasses; ++i) EXPECT_FALSE(known_of(rows, i).has_value());
}

TEST(Rows, NumberRailsAsRank0HasThem) {
  const RailNames own = {"tcp/a", "tcp/b", "tcp/c"};
  Rule known = rule(kClass, kClass, AlgorithmChoice::ring);
  known.chosen.rails = only(0) | only(1);
  known.measured = {{known.chosen, 5}, {{AlgorithmChoice::mesh, 0, false, only(2)}, 6}, {{AlgorithmChoice::mesh}, 7}};
  TableFile some = file({known});
  some.rails = {"tcp/c", "tcp/b", "tcp/elsewhere"};
  const std::optional<Known> row = known_of(rows_of(some, kShape, own), kClass);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->chosen.rails, only(2) | only(1));
  ASSERT_EQ(row->measured.size(), 2u) << "what goes by a rail that is not here tells nothing";
  EXPECT_EQ(row->measured[1], (Measured{{AlgorithmChoice::mesh}, 7}));
  EXPECT_EQ(lacking(some, kShape, own).classes, 0u);
}

TEST(Rows, LeaveOutWhatGoesByRailsThatRank0DoesNotHave) {
  Rule first = rule(3, kClass, AlgorithmChoice::mesh), second = rule(kClass + 1, kClass + 1, AlgorithmChoice::ring);
  first.chosen.rails = only(0) | only(1);
  TableFile some = file({first, second});
  some.rails = {"tcp/a", "tcp/b"};
  const std::vector<std::uint64_t> rows = rows_of(some, kShape, {"tcp/b"});
  EXPECT_FALSE(known_of(rows, kClass).has_value());
  EXPECT_TRUE(known_of(rows, kClass + 1).has_value());
  const Lacking without = lacking(some, kShape, {"tcp/b"});
  EXPECT_EQ(without.classes, kClass - 2);
  EXPECT_EQ(without.example, "mesh on tcp/a and tcp/b from 8 bytes");
}

TEST(Recall, AWayByCertainRailsIsTheOneThatIsUsed) {
  Rule known = rule(kClass, kClass, AlgorithmChoice::ring);
  known.chosen.rails = only(1);
  TableFile some = file({known, rule(20, 20, AlgorithmChoice::incumbent)});
  some.shapes[0].rules[1].chosen.rails = only(0);
  some.rails = {"tcp/a", "tcp/b"};
  Table table;
  table.begin(terms(false));
  table.name_rails(some.rails);
  const Table::Recalled recalled = table.recall(rows_of(some, kShape, some.rails));
  EXPECT_EQ(table.next(kSize, 4), (Candidate{AlgorithmChoice::ring, 0, false, only(1)}));
  EXPECT_EQ(recalled.left_out, 1u) << "rails are nothing that the incumbent can be told";
  EXPECT_EQ(recalled.example, "incumbent on tcp/a from 1m bytes");
}

TEST(Recall, AKnownClassIsSettledAndTriesNothing) {
  Rule known = rule(kClass, kClass, AlgorithmChoice::mesh);
  known.measured = {{known.chosen, 1000}, {{AlgorithmChoice::ring}, 9000}};
  Table table;
  table.begin(terms(true));
  const Table::Recalled recalled = table.recall(rows_of(file({known}), kShape, {}));
  EXPECT_EQ(recalled.classes, 1u);
  EXPECT_EQ(recalled.left_out, 0u);
  EXPECT_EQ(table.size_class(kClass)->stage(), SizeClass::Stage::settled);
  EXPECT_EQ(calls(table, 200, kSize), std::vector<AlgorithmChoice>(200, AlgorithmChoice::mesh));
  std::uint64_t ring = 0;
  const SizeClass& one = *table.size_class(kClass);
  for (std::size_t i = 0; i < one.candidates().size(); ++i)
    if (one.candidates()[i].algorithm == AlgorithmChoice::ring) ring = one.measured(i);
  EXPECT_EQ(ring, 9000u);
  EXPECT_EQ(table.size_class(kClass + 1), nullptr);
  calls(table, 1, 2 * kSize);
  EXPECT_EQ(table.size_class(kClass + 1)->stage(), SizeClass::Stage::compared) << "what is not known is learned";
}

TEST(Recall, ALookRefinesWhatIsKnown) {
  Rule known = rule(kClass, kClass, AlgorithmChoice::mesh);
  Table table;
  table.begin(terms(true));
  table.recall(rows_of(file({known}), kShape, {}));
  std::vector<AlgorithmChoice> carried;
  for (int i = 0; i < 2000; ++i) {
    while (table.agreement_due(kSize, 4)) agree(table);
    carried.push_back(table.next(kSize, 4).algorithm);
    table.took(carried.back() == AlgorithmChoice::ring ? 50 * kMicrosecond : 100 * kMicrosecond);
  }
  EXPECT_EQ(carried.front(), AlgorithmChoice::mesh);
  EXPECT_EQ(carried.back(), AlgorithmChoice::ring);
}

TEST(Recall, WithoutLearningItIsFrozen) {
  Table table;
  table.begin(terms(false));
  table.recall(rows_of(file({rule(kClass, kClass, AlgorithmChoice::incumbent)}), kShape, {}));
  EXPECT_EQ(calls(table, 3000, kSize), std::vector<AlgorithmChoice>(3000, AlgorithmChoice::incumbent));
  EXPECT_EQ(table.size_class(kClass)->calls(), 3000u);
  EXPECT_EQ(table.next(2 * kSize, 4).algorithm, terms(false).plan.choose(2 * kSize, 4, kShape.ranks))
      << "as without a file";
}

TEST(Recall, ReproducibleAllowsOnlyTheRingsOrder) {
  for (const bool learn : {false, true}) {
    Terms pinned = terms(learn);
    pinned.plan.reproducible = true;
    Table table;
    table.begin(pinned);
    const Table::Recalled recalled = table.recall(
        rows_of(file({rule(4, 4, AlgorithmChoice::doubling), rule(kClass, kClass, AlgorithmChoice::incumbent),
                      rule(20, 20, AlgorithmChoice::mesh)}),
                kShape, {}));
    EXPECT_EQ(recalled.classes, 1u);
    EXPECT_EQ(recalled.left_out, 2u);
    EXPECT_EQ(recalled.example, "doubling from 16 bytes");
    for (const std::size_t bytes : {std::size_t{16}, kSize, std::size_t{1} << 20})
      for (const AlgorithmChoice used : calls(table, 600, bytes))
        EXPECT_TRUE(used == AlgorithmChoice::ring || used == AlgorithmChoice::mesh ||
                    used == AlgorithmChoice::single_step);
  }
}

TEST(Recall, WhatASizeCannotHaveIsLeftOut) {
  Table table;
  table.begin(terms(true));
  const Table::Recalled recalled =
      table.recall(rows_of(file({rule(0, kSizeClasses - 1, AlgorithmChoice::single_step)}), kShape, {}));
  EXPECT_EQ(recalled.classes, 15u) << "up to 32 KiB";
  EXPECT_EQ(recalled.left_out, kSizeClasses - 15);
  EXPECT_EQ(recalled.example, "single_step from 32k bytes");
}

TEST(Recall, AFixedAlgorithmCountsBeforeTheFile) {
  Terms fixed = terms(true);
  fixed.plan.algorithm = AlgorithmChoice::ring;
  Table table;
  table.begin(fixed);
  const Table::Recalled recalled =
      table.recall(rows_of(file({rule(0, kSizeClasses - 1, AlgorithmChoice::mesh)}), kShape, {}));
  EXPECT_EQ(recalled.classes + recalled.left_out, 0u);
  EXPECT_EQ(table.next(kSize, 4).algorithm, AlgorithmChoice::ring);
}

}  // namespace
}  // namespace nezha
