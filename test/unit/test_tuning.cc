// SPDX-License-Identifier: BSD-3-Clause
/// The table learns from durations that a virtual world gives it: one table for each rank, words combined as the engine
/// would. All ranks must always choose the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "tuning/cost.h"
#include "tuning/table.h"

namespace nezha {
namespace {

constexpr std::size_t kSize = 64 * 1024;

Terms learning(int ranks = 4) {
  Config config;
  Terms terms{Plan::from(config), ranks, 0.25};
  terms.plan.learn = true;
  return terms;
}

/// The tables of a team's ranks, and the time that things take there.
class Ranks {
 public:
  using Duration = std::function<double(const Candidate&, int rank)>;  ///< microseconds

  explicit Ranks(const Terms& terms) : tables_(static_cast<std::size_t>(terms.ranks)) {
    for (Table& table : tables_) table.begin(terms);
  }

  /// How many microseconds each rank comes late to each call, unless they have just met.
  std::function<double(int rank)> late = [](int) { return 0.0; };

  /// One call; what carried it.
  Candidate call(std::size_t bytes, const Duration& duration) {
    std::vector<double> start;
    const bool met = agree(bytes);
    for (std::size_t rank = 0; rank < tables_.size(); ++rank) start.push_back(met ? 0 : late(static_cast<int>(rank)));
    const double last = *std::max_element(start.begin(), start.end());
    const Candidate chosen = tables_[0].next(bytes, 4);
    for (std::size_t rank = 1; rank < tables_.size(); ++rank) EXPECT_EQ(tables_[rank].next(bytes, 4), chosen) << "rank " << rank;
    for (std::size_t rank = 0; rank < tables_.size(); ++rank)
      tables_[rank].took(static_cast<Nanoseconds>((last - start[rank] + duration(chosen, static_cast<int>(rank))) * kMicrosecond));
    return chosen;
  }
  Candidate calls(std::size_t count, std::size_t bytes, const Duration& duration) {
    Candidate last;
    for (std::size_t i = 0; i < count; ++i) last = call(bytes, duration);
    return last;
  }
  Table& at(std::size_t rank) { return tables_[rank]; }
  const Candidate& chosen(std::size_t bytes) { return tables_[0].size_class(size_class_of(bytes))->chosen(); }
  SizeClass::Stage stage(std::size_t bytes) { return tables_[0].size_class(size_class_of(bytes))->stage(); }
  std::size_t agreements() const { return agreements_; }

 private:
  /// True when the ranks have met.
  bool agree(std::size_t bytes) {
    const std::size_t before = agreements_;
    while (tables_[0].agreement_due(bytes, 4)) {
      const bool adds = tables_[0].adds();
      std::array<std::uint64_t, Table::kWords> all;
      all.fill(adds ? 0 : ~std::uint64_t{0});
      for (Table& table : tables_) {
        EXPECT_TRUE(&table == &tables_[0] || table.agreement_due(bytes, 4));
        const auto words = table.words();
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = adds ? all[i] + words[i] : std::min(all[i], words[i]);
        kept_.push_back(words);
      }
      for (const auto& words : kept_) std::copy(all.begin(), all.end(), words.begin());
      kept_.clear();
      for (Table& table : tables_) table.agreed();
      ++agreements_;
    }
    for (Table& table : tables_) EXPECT_FALSE(table.agreement_due(bytes, 4));
    return agreements_ != before;
  }

  std::vector<Table> tables_;
  std::vector<std::span<std::uint64_t, Table::kWords>> kept_;
  std::size_t agreements_ = 0;
};

/// Times of the algorithms in microseconds; the rest takes 1000.
Ranks::Duration times(std::vector<std::pair<AlgorithmChoice, double>> list) {
  return [list](const Candidate& candidate, int) {
    for (const auto& [algorithm, time] : list)
      if (algorithm == candidate.algorithm) return time;
    return 1000.0;
  };
}

TEST(Table, FindsTheFastestInAFewCalls) {
  for (const AlgorithmChoice fastest : {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::incumbent}) {
    Ranks ranks(learning());
    std::size_t calls = 0;
    const auto time = times({{fastest, 500}});
    while (calls < 30 && (calls == 0 || ranks.stage(kSize) != SizeClass::Stage::settled)) {
      ranks.call(kSize, time);
      ++calls;
      if (ranks.at(0).agreement_due(kSize, 4)) ranks.call(kSize, time), ++calls;
    }
    EXPECT_LE(calls, 20u);
    EXPECT_EQ(ranks.chosen(kSize).algorithm, fastest);
    EXPECT_EQ(ranks.calls(10, kSize, time).algorithm, fastest);
  }
}

TEST(Table, TheFirstCallUsesWhatThePlanSays) {
  Ranks ranks(learning());
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, kSize, std::size_t{16} << 20})
    EXPECT_EQ(ranks.call(bytes, times({})).algorithm, learning().plan.choose(bytes, 4, 4));
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
  EXPECT_LE(cost_of_learning(8, 70, times({{doubling, 70}, {incumbent, 75}, {single_step, 90}, {mesh, 95}})), 0.02);
  EXPECT_LE(cost_of_learning(8192, 80, times({{doubling, 110}, {incumbent, 140}, {mesh, 130}, {single_step, 150}, {halving, 160}, {ring, 200}})), 0.02);
  EXPECT_LE(cost_of_learning(65536, 80, times({{mesh, 250}, {ring, 330}, {incumbent, 400}, {halving, 340}})), 0.02);
  EXPECT_LE(cost_of_learning(1 << 20, 100, times({{ring, 6700}, {mesh, 7000}, {incumbent, 12000}, {halving, 8000}})), 0.005);
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

/// A change after a long time of calm: looks have become rare, but levels still tell.
TEST(Table, FollowsALateChange) {
  Ranks ranks(learning());
  ranks.calls(50000, kSize, times({{AlgorithmChoice::mesh, 400}}));
  const auto after = times({{AlgorithmChoice::mesh, 1500}, {AlgorithmChoice::ring, 700}});
  EXPECT_EQ(ranks.calls(2500, kSize, after).algorithm, AlgorithmChoice::ring);
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
  ranks.at(2).ask_for_look();
  EXPECT_EQ(ranks.calls(300, kSize, after).algorithm, AlgorithmChoice::ring);
}

TEST(Table, OneWhoAsksOnceGetsOneLook) {
  Ranks ranks(learning());
  const auto time = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 700}});
  ranks.calls(300, kSize, time);
  ranks.at(2).ask_for_look();
  ranks.calls(600, kSize, time);
  std::size_t others = 0;
  for (int i = 0; i < 3000; ++i) others += ranks.call(kSize, time).algorithm == AlgorithmChoice::mesh ? 0 : 1;
  EXPECT_LE(others, 12U);
}

TEST(Table, WhatIsAskedInTheMiddleOfARoundIsNotForgotten) {
  Ranks ranks(learning());
  const auto before = times({{AlgorithmChoice::mesh, 400}, {AlgorithmChoice::ring, 700}});
  ranks.calls(2, kSize, before);
  ranks.at(2).ask_for_look();
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
    ranks.at(1).ask_for_look();
    all += time(ranks.call(kSize, time), 0);
  }
  EXPECT_LT(all, 1.06 * 3000 * 400);
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
      if (random() % 50 == 0) ranks.at(random() % 5).ask_for_look();
      if (random() % 2000 == 0) ranks.at(random() % 5).ask_to_bar_incumbent();
      ranks.call(std::size_t{8} << random() % 20, time);
    }
  }
}

TEST(Table, TheIncumbentIsLeftAloneOnceARankAsks) {
  Ranks ranks(learning());
  const auto time = times({{AlgorithmChoice::incumbent, 100}});
  ASSERT_EQ(ranks.calls(40, kSize, time).algorithm, AlgorithmChoice::incumbent);
  ranks.at(3).ask_to_bar_incumbent();
  ranks.calls(300, kSize, time);
  for (int i = 0; i < 3000; ++i) ASSERT_NE(ranks.call(kSize, time).algorithm, AlgorithmChoice::incumbent);
  for (int i = 0; i < 100; ++i) ASSERT_NE(ranks.call(3 * kSize, time).algorithm, AlgorithmChoice::incumbent);
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

TEST(Candidate, TravelsAsOneWord) {
  for (const Candidate& one : {Candidate{AlgorithmChoice::ring, 65536}, Candidate{}, Candidate{AlgorithmChoice::ring, 0, true}, Candidate{AlgorithmChoice::mesh, ~0u}})
    EXPECT_EQ(decode_candidate(encode(one)), one);
  EXPECT_EQ(decode_candidate(kNoWord), std::nullopt);
  EXPECT_EQ(decode_candidate(0), std::nullopt);
  EXPECT_EQ(decode_candidate(std::uint64_t{200} << 32), std::nullopt);
  EXPECT_EQ(decode_candidate(std::uint64_t{0x201} << 32), std::nullopt);
}

}  // namespace
}  // namespace nezha
