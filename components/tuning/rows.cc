// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/rows.h"

namespace nezha {

std::vector<std::uint64_t> rows_of(const TableFile& file, const Shape& shape) {
  const ShapeRules* rules = file.find(shape);
  if (rules == nullptr || rules->rules.empty()) return {};
  std::vector<std::uint64_t> rows(kRows, 0);
  for (std::size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    const Rule* rule = find_rule(*rules, size_class);
    if (rule == nullptr) continue;
    std::uint64_t* word = &rows[size_class * kRowWords];
    *word++ = encode(rule->chosen);
    for (const Measured& measured : rule->measured) {
      *word++ = encode(measured.way);
      *word++ = measured.time;
    }
  }
  return rows;
}

std::optional<Known> known_of(std::span<const std::uint64_t> rows, std::size_t size_class) {
  const std::span<const std::uint64_t> row = rows.subspan(size_class * kRowWords, kRowWords);
  const std::optional<Candidate> chosen = decode_candidate(row[0]);
  if (!chosen) return std::nullopt;
  Known known{*chosen, {}};
  for (std::size_t i = 1; i < row.size(); i += 2)
    if (const std::optional<Candidate> way = decode_candidate(row[i])) known.measured.push_back({*way, row[i + 1]});
  return known;
}

}  // namespace nezha
