// SPDX-License-Identifier: BSD-3-Clause
/// For tests of all layers.
#pragma once

#include <cstdlib>

namespace nezha::test {

/// True when a sanitizer slows everything down: tests then do less of the same. contrib/check says so by the environment.
inline bool slowed_down() { return std::getenv("NEZHA_SANITIZER") != nullptr; }

/// How often a test does the same, or with how much: a quarter of the usual under a sanitizer, but for a long check.
template <typename Number>
Number fewer(Number usual) {
  return slowed_down() && std::getenv("NEZHA_LONG") == nullptr ? static_cast<Number>((usual + 3) / 4) : usual;
}

}  // namespace nezha::test
