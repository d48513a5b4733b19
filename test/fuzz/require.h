// SPDX-License-Identifier: BSD-3-Clause
/// What a fuzz target expects: where it is not so, the run ends and says where.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                             \
  do {                                                                 \
    if (!(condition)) {                                                \
      std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
      std::abort();                                                    \
    }                                                                  \
  } while (false)
