// SPDX-License-Identifier: BSD-3-Clause
/// Blocks in columns: where they lie, there and back, and what a reduction by the host is told of that.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/columns.h"
#include "reduce/reducer.h"

namespace nezha::test {
namespace {

using Values = std::vector<std::uint32_t>;

std::byte* bytes(Values& values) { return reinterpret_cast<std::byte*>(values.data()); }

Values counted(std::size_t count) {
  Values values(count);
  std::iota(values.begin(), values.end(), 0U);
  return values;
}

/// Where the elements of a vector, which have their numbers, lie in columns; they are put back from there, some at a time.
Values arranged(const Columns& columns, std::size_t count) {
  const std::size_t size = count * sizeof(std::uint32_t), some = 5 * sizeof(std::uint32_t);
  Values vector = counted(count), ordered(count), back(count);
  columns.arrange(bytes(vector), 0, size, bytes(ordered));
  columns.restore(bytes(ordered), 0, some, bytes(back));
  columns.restore(bytes(ordered), some, size, bytes(back));
  EXPECT_EQ(back, vector);
  return ordered;
}

/// Ranks 0, 2 and 1, 3, whose blocks are three elements, in segments of two and one of each.
TEST(Columns, AreByPlaceAndInSegmentsByNode) {
  Columns columns({{0, 2}, {1, 3}});
  columns.cut(12 * 4, 2, 4 * 4);
  EXPECT_EQ(arranged(columns, 12), (Values{0, 1, 3, 4, 2, 5, 6, 7, 9, 10, 8, 11}));
}

/// One for both places: pieces of four and two elements.
TEST(Columns, HaveBlocksOfSeveralRanks) {
  Columns columns({{0, 2}, {1, 3}});
  columns.cut(12 * 4, 1, 8 * 4);
  EXPECT_EQ(arranged(columns, 12), (Values{0, 1, 2, 6, 3, 4, 5, 9, 7, 8, 10, 11}));
  Values block = {90, 91, 92}, alone(12);
  columns.arrange_block(bytes(block), 1, 0, bytes(alone));  // rank 2
  EXPECT_EQ(alone, (Values{0, 0, 0, 90, 0, 0, 0, 0, 91, 92, 0, 0}));
}

TEST(Columns, TakeABlockThatLiesAlone) {
  Columns columns({{0, 2}, {1, 3}});
  columns.cut(12 * 4, 2, 4 * 4);
  Values block = {90, 91, 92}, ordered(12);
  columns.arrange_block(bytes(block), 1, 1, bytes(ordered));  // rank 3
  EXPECT_EQ(ordered, (Values{0, 0, 0, 0, 0, 0, 0, 0, 90, 91, 0, 92}));
}

TEST(Columns, OfOneNodeAreTheVector) {
  Columns columns({{0, 1, 2}});
  columns.cut(36, 3, columns.segment(36, 4, 3, 1 << 20));
  EXPECT_TRUE(columns.as_in_vector());
  EXPECT_EQ(arranged(columns, 9), counted(9));
}

TEST(Columns, AreCutIntoWholeElementsOfEachBlock) {
  const Columns columns({{0, 1}, {2, 3}, {4, 5}});
  EXPECT_EQ(columns.segment(6 * 100 * 12, 12, 2, 1000), 3 * 27 * 12U);
  EXPECT_EQ(columns.segment(6 * 100 * 12, 12, 2, 1), 3 * 12U) << "one of each at least";
  EXPECT_EQ(columns.segment(6 * 100 * 12, 12, 2, 1 << 20), 3 * 100 * 12U) << "no more than there are";
}

TEST(Columns, AreAsManyAsDivideTheRanksOfANode) {
  const Columns columns({{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}});
  EXPECT_EQ(columns.count(0), 1U);
  EXPECT_EQ(columns.count(2), 2U);
  EXPECT_EQ(columns.count(5), 3U);
  EXPECT_EQ(columns.count(100), 6U);
}

TEST(Columns, NeedNodesOfEquallyManyRanksAndEvenBlocks) {
  EXPECT_TRUE(Columns::possible({{0, 3}, {1, 2}}));
  EXPECT_FALSE(Columns::possible({{0, 3}, {1}}));
  const std::size_t even[] = {5, 5, 5}, uneven[] = {5, 5, 6};
  EXPECT_TRUE(Columns::even(even, 3));
  EXPECT_FALSE(Columns::even(uneven, 3));
}

/// It hears where in the vector the elements lie.
TEST(Columns, AreWhatTheHostReducesBy) {
  struct Heard {
    std::vector<std::size_t> first, count;
  } heard;
  Columns columns({{0, 2}, {1, 3}});
  columns.cut(12 * 4, 2, 4 * 4);
  Reducer reducer;
  reducer.host = [](void*, void* call, const void*, void* inout, std::size_t first, std::size_t count) {
    auto& all = *static_cast<Heard*>(call);
    all.first.push_back(first);
    all.count.push_back(count);
    for (std::size_t i = 0; i < count; ++i) static_cast<std::uint32_t*>(inout)[i] += 100;
  };
  reducer.call_ctx = &heard;
  reducer.element = 4;
  reducer.begin = 4;
  reducer.places = &columns;
  Values a(6), b(6, 1), out(6);
  reducer.fold(bytes(a), bytes(b), bytes(out), 24, 8);  // elements 3 to 8 of the columns
  EXPECT_EQ(out, Values(6, 101));
  EXPECT_EQ(heard.first, (std::vector<std::size_t>{4, 2, 5, 6, 9}));
  EXPECT_EQ(heard.count, (std::vector<std::size_t>{1, 1, 1, 2, 1}));
}

}  // namespace
}  // namespace nezha::test
