// SPDX-License-Identifier: BSD-3-Clause
/// A team whose tables learn from durations that a virtual world gives them: one table for each rank, words combined as the
/// engine would. All ranks must always choose the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tuning/table.h"

namespace nezha {

inline constexpr std::size_t kSize = 64 * 1024;

inline Terms learning(int ranks = 4) {
  Config config;
  Terms terms{Plan::from(config), ranks, 0.25};
  terms.plan.learn = true;
  terms.plan.incumbent_margin = 0;
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
inline Ranks::Duration times(std::vector<std::pair<AlgorithmChoice, double>> list) {
  return [list](const Candidate& candidate, int) {
    for (const auto& [algorithm, time] : list)
      if (algorithm == candidate.algorithm) return time;
    return 1000.0;
  };
}

}  // namespace nezha
