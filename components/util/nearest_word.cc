// SPDX-License-Identifier: BSD-3-Clause
#include "util/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace nezha {

std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // edits from the letters of `a` so far to each beginning of `b`
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::size_t nearest_word(std::string_view word, std::span<const std::string_view> words) {
  std::size_t best = words.size(), fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t edits = edits_between(word, words[i]);
    if (edits >= fewest) continue;
    best = i;
    fewest = edits;
  }
  return best;
}

}  // namespace nezha
