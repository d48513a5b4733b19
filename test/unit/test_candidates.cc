// SPDX-License-Identifier: BSD-3-Clause
/// What is tried at each size, and how it travels.
#include <gtest/gtest.h>

#include <algorithm>

#include "table_ranks.h"

namespace nezha {
namespace {

TEST(Candidates, AreWhatCanCarryTheWholeClass) {
  for (int ranks = 2; ranks < 70; ranks += 3)
    for (std::size_t size_class = 0; size_class < kSizeClasses - 1; ++size_class)
      for (const bool reproducible : {false, true}) {
        Terms terms = learning(ranks);
        terms.plan.reproducible = reproducible;
        const std::vector<Candidate> found = candidates(size_class, terms);
        ASSERT_FALSE(found.empty());
        ASSERT_LE(found.size(), kMostCandidates);
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_TRUE(possible(found[i], size_class, terms)) << ranks << " ranks, class " << size_class;
          EXPECT_EQ(std::count(found.begin(), found.end(), found[i]), 1);
        }
      }
}

/// Within a node there are the memory and the incumbent, which depends on no rail: it need not be faster by any margin.
TEST(Candidates, WithinANodeAreTheMemoryAndTheIncumbent) {
  Terms terms = learning(4);
  terms.nodes = 1;
  for (const std::size_t size_class : {2, 13, 24}) {
    const std::vector<Candidate> found = candidates(size_class, terms);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].algorithm, AlgorithmChoice::memory);
    EXPECT_EQ(found[1].algorithm, AlgorithmChoice::incumbent);
    EXPECT_FALSE(possible({AlgorithmChoice::ring}, size_class, terms));
    EXPECT_FALSE(possible({AlgorithmChoice::memory}, size_class, learning(4)));
  }
  terms.plan.reproducible = true;
  EXPECT_EQ(candidates(13, terms).size(), 1u) << "the incumbent has other bits";
}

TEST(Candidates, WhatIsHopelessIsNotTried) {
  const auto holds = [](const std::vector<Candidate>& all, AlgorithmChoice one) {
    return std::any_of(all.begin(), all.end(), [&](const Candidate& c) { return c.algorithm == one; });
  };
  EXPECT_FALSE(holds(candidates(2, learning(16)), AlgorithmChoice::ring));         // 30 hops for 4 bytes
  EXPECT_FALSE(holds(candidates(13, learning(64)), AlgorithmChoice::single_step)); // 63 vectors
  EXPECT_TRUE(holds(candidates(24, learning(16)), AlgorithmChoice::ring));
}

TEST(Candidates, OneRailIsOneWhereThereAreSeveralAndVectorsAreSplit) {
  const auto narrow = [](std::size_t size_class, bool rails, int ranks = 4) {
    Terms terms = learning(ranks);
    terms.rails = rails;
    const std::vector<Candidate> all = candidates(size_class, terms);
    return std::count_if(all.begin(), all.end(), [](const Candidate& c) { return c.one_rail; });
  };
  EXPECT_GT(narrow(18, true), 0);
  EXPECT_EQ(narrow(18, false), 0);
  EXPECT_EQ(narrow(10, true), 0);
  EXPECT_EQ(narrow(18, true, 64), 0) << "a block is too small to be split";
}

TEST(Candidates, FewerRanksOfANodeCarryWhereSeveralDo) {
  Terms terms = learning(32);
  terms.nodes = 4;
  terms.carriers = 8;
  terms.least_part = 32 * 1024;
  const auto fewer = [&](std::size_t size_class) {
    std::vector<int> numbers;
    for (const Candidate& each : candidates(size_class, terms))
      if (each.carriers != 0) numbers.push_back(each.carriers);
    return numbers;
  };
  EXPECT_EQ(fewer(15), std::vector<int>{}) << "one rank carries";
  EXPECT_EQ(fewer(16), std::vector<int>{1});
  EXPECT_EQ(fewer(17), (std::vector<int>{1, 2}));
  EXPECT_EQ(fewer(18), (std::vector<int>{1, 4}));
  EXPECT_EQ(fewer(19), std::vector<int>{}) << "the rails are what limits";
  const Candidate one{AlgorithmChoice::ring, 0, false, 0, 1};
  EXPECT_TRUE(possible(one, 18, terms));
  EXPECT_FALSE(possible({AlgorithmChoice::ring, 0, false, 0, 9}, 18, terms)) << "more than there are";
  EXPECT_FALSE(possible({AlgorithmChoice::incumbent, 0, false, 0, 1}, 18, terms));
  EXPECT_FALSE(possible(one, 18, learning(32))) << "nodes share no memory";
  terms.plan.reproducible = true;
  EXPECT_EQ(fewer(17), std::vector<int>{});
  EXPECT_FALSE(possible(one, 18, terms)) << "sums have another order";
}

TEST(Candidate, TravelsAsOneWord) {
  for (const Candidate& one : {Candidate{AlgorithmChoice::ring, 65536}, Candidate{}, Candidate{AlgorithmChoice::ring, 0, true}, Candidate{AlgorithmChoice::mesh, ~0u},
                               Candidate{AlgorithmChoice::ring, 1, false, 0xffff}, Candidate{AlgorithmChoice::incumbent, ~0u, true},
                               Candidate{AlgorithmChoice::mesh, 0, false, 0, 1}, Candidate{AlgorithmChoice::ring, ~0u, true, 0, kMostCarriers}})
    EXPECT_EQ(decode_candidate(encode(one)), one);
  EXPECT_EQ(decode_candidate(kNoWord), std::nullopt);
  EXPECT_EQ(decode_candidate(0), std::nullopt);
  EXPECT_EQ(decode_candidate(std::uint64_t{200} << 32), std::nullopt);
  EXPECT_EQ(decode_candidate(std::uint64_t{0x2000001} << 32), (Candidate{AlgorithmChoice::ring, 0, false, 0, 1}));
  EXPECT_EQ(decode_candidate(std::uint64_t{0x82000001} << 32), std::nullopt) << "by too many ranks";
  EXPECT_EQ(decode_candidate(std::uint64_t{0x1000101} << 32), std::nullopt) << "the best rail, and a certain one";
}

}  // namespace
}  // namespace nezha
