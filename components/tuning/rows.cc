// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/rows.h"

namespace nezha {
namespace {

std::optional<Candidate> numbered(Candidate way, const RailNames& from, const RailNames& to) {
  const std::optional<RailSet> rails = renumbered(way.rails, from, to);
  if (!rails) return std::nullopt;
  way.rails = *rails;
  return way;
}

}  // namespace

std::vector<std::uint64_t> rows_of(const TableFile& file, const Shape& shape, const RailNames& rails) {
  const ShapeRules* rules = file.find(shape);
  if (rules == nullptr || rules->rules.empty()) return {};
  std::vector<std::uint64_t> rows(kRows, 0);
  for (std::size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    const Rule* rule = find_rule(*rules, size_class);
    const auto chosen = rule == nullptr ? std::nullopt : numbered(rule->chosen, file.rails, rails);
    if (!chosen) continue;
    std::uint64_t* word = &rows[size_class * kRowWords];
    *word++ = encode(*chosen);
    for (const Measured& measured : rule->measured) {
      const std::optional<Candidate> way = numbered(measured.way, file.rails, rails);
      if (!way) continue;
      *word++ = encode(*way);
      *word++ = measured.time;
    }
  }
  return rows;
}

Lacking lacking(const TableFile& file, const Shape& shape, const RailNames& rails) {
  Lacking found;
  const ShapeRules* rules = file.find(shape);
  for (std::size_t size_class = 0; rules != nullptr && size_class < kSizeClasses; ++size_class) {
    const Rule* rule = find_rule(*rules, size_class);
    if (rule == nullptr || numbered(rule->chosen, file.rails, rails)) continue;
    if (found.classes++ == 0) found.example = text_of(rule->chosen, file.rails, size_class);
  }
  return found;
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
