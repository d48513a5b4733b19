// SPDX-License-Identifier: BSD-3-Clause
/// What a team's rank 0 takes from a table file, as words in which it travels to all ranks: zero means nothing known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tuning/table_file.h"

namespace nezha {

/// For each size class the chosen way, then ways and times of what was measured.
constexpr std::size_t kRowWords = 1 + 2 * kMostCandidates;
constexpr std::size_t kRows = kSizeClasses * kRowWords;

/// What is known of a size class before its first call.
struct Known {
  Candidate chosen;
  std::vector<Measured> measured;
};

/// kRows words, or none when the file has nothing for that shape. `rails`: those of rank 0. What names another is not in it.
std::vector<std::uint64_t> rows_of(const TableFile& file, const Shape& shape, const RailNames& rails);
/// How many size classes of that shape go by rails that rank 0 does not have.
struct Lacking {
  std::size_t classes = 0;
  std::string example;
};
Lacking lacking(const TableFile& file, const Shape& shape, const RailNames& rails);
/// `rows`: kRows words.
std::optional<Known> known_of(std::span<const std::uint64_t> rows, std::size_t size_class);

}  // namespace nezha
