// SPDX-License-Identifier: BSD-3-Clause
/// The chunks of what goes through an aggregator, also where the vector has segments; and how members describe these.
#include "alg/star_layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace nezha::test {
namespace {

constexpr BlockPart kPart{20000, 50000};

Call call_of(std::size_t count, std::size_t segment, const BlockPart& part = kPart) {
  Call call;
  call.count = count;
  call.element = sizeof(float);
  call.chunk = 1024;
  call.part = part;
  call.star = {.members = 3, .type = NEZHA_FLOAT, .op = NEZHA_SUM, .segment = segment};
  return call;
}

/// As that of one vector after the other.
std::vector<StarLayout::Chunk> one_by_one(std::size_t bytes, std::size_t segment) {
  std::vector<StarLayout::Chunk> all;
  for (std::size_t begin = 0; begin < bytes; begin += segment) {
    StarLayout layout;
    layout.cut(call_of(std::min(segment, bytes - begin) / sizeof(float), 0));
    for (std::size_t number = 0; number < layout.chunks(); ++number) {
      all.push_back(layout.chunk(number));
      all.back().begin += begin;
    }
  }
  return all;
}

class Segments : public testing::TestWithParam<std::size_t> {};

TEST_P(Segments, AreCutOneByOne) {
  constexpr std::size_t kBytes = 100004 * sizeof(float);
  const std::vector<StarLayout::Chunk> wanted = one_by_one(kBytes, GetParam());
  StarLayout layout;
  layout.cut(call_of(kBytes / sizeof(float), GetParam()));
  ASSERT_EQ(layout.chunks(), wanted.size());
  for (std::size_t number = 0; number < wanted.size(); ++number) {
    const StarLayout::Chunk chunk = layout.chunk(number);
    ASSERT_EQ(chunk.block, wanted[number].block);
    ASSERT_EQ(chunk.begin, wanted[number].begin);
    ASSERT_EQ(chunk.size, wanted[number].size);
    ASSERT_EQ(layout.number_of(chunk.begin), number);
    ASSERT_EQ(layout.number_of(chunk.end() - sizeof(float)), number);
    ASSERT_TRUE(layout.holds(chunk.begin, chunk.size, kBytes));
    ASSERT_FALSE(layout.holds(chunk.begin, chunk.size + sizeof(float), kBytes));
  }
}

// Of one element, fewer elements than blocks, with and without a rest, of the whole and of more than that.
INSTANTIATE_TEST_SUITE_P(All, Segments, testing::Values(4, 8, 4096, 40000, 400016, 1000000));

TEST(StarLayouts, HoldNothingOutsideTheVector) {
  StarLayout layout;
  layout.cut(call_of(1000, 2000, {}));
  EXPECT_TRUE(layout.holds(0, 4, 4000));
  EXPECT_FALSE(layout.holds(4000, 4, 4000));
  EXPECT_FALSE(layout.holds(~std::uint64_t{3}, 4, 4000));
}

TEST(StarDescriptions, SayHowLongSegmentsAre) {
  const Call call = call_of(1000, 2000);
  StarDescription said{call.star, call.count, 1024, kPart}, heard;
  said.terms.window = 2;
  ASSERT_TRUE(read_description(write_description(said), heard).ok());
  EXPECT_EQ(heard.terms.segment, 2000U);
  EXPECT_TRUE(said.agrees(heard));
  heard.terms.segment = 0;
  EXPECT_FALSE(said.agrees(heard));
}

TEST(StarDescriptions, OfBrokenElementsAreRefused) {
  StarDescription said{call_of(1000, 2001).star, 1000, 1024, kPart}, heard;
  said.terms.window = 2;
  EXPECT_NE(read_description(write_description(said), heard).text().find("segments of 2001 bytes"), std::string::npos);
  StarDescription whole{{.members = 3, .type = NEZHA_FLOAT, .op = NEZHA_SUM, .segment = 4, .whole = true}, 10, 0, {}};
  EXPECT_FALSE(read_description(write_description(whole), heard).ok());
}

}  // namespace
}  // namespace nezha::test
