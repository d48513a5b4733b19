// SPDX-License-Identifier: BSD-3-Clause
/// For tests of all layers.
#pragma once

#include <cstdlib>

namespace nezha::test {

/// True when a sanitizer slows everything down: tests then do less of the same. contrib/check says so by the environment.
inline bool slowed_down() { return std::getenv("NEZHA_SANITIZER") != nullptr; }

}  // namespace nezha::test
