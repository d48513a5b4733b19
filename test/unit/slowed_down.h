// SPDX-License-Identifier: BSD-3-Clause
/// For tests of all layers.
#pragma once

#include <cstdlib>
#include <vector>

namespace nezha::test {

/// True when a sanitizer slows everything down: tests then do less of the same. contrib/check says so by the environment.
inline bool slowed_down() { return std::getenv("NEZHA_SANITIZER") != nullptr; }

/// True when there is time for less only: under a sanitizer, or in a usual check that says so; but for a long check.
inline bool in_a_hurry() {
  return (slowed_down() || std::getenv("NEZHA_HURRY") != nullptr) && std::getenv("NEZHA_LONG") == nullptr;
}

/// How often a test does the same, or with how much: a quarter of the usual under a sanitizer, but for a long check.
template <typename Number>
Number fewer(Number usual) {
  return in_a_hurry() ? static_cast<Number>((usual + 3) / 4) : usual;
}

/// Of a team, for what is tested with each. The largest take most of the time.
inline std::vector<int> numbers_of_ranks() {
  return in_a_hurry() ? std::vector{2, 3, 5, 8} : std::vector{2, 3, 4, 5, 6, 7, 8, 9};
}

}  // namespace nezha::test
