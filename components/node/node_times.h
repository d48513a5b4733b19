// SPDX-License-Identifier: BSD-3-Clause
/// What a member's time in chunked operations went into (chunked_operation.h); the rest of it was waiting.
#pragma once

#include "util/clock.h"

namespace nezha {

struct NodeTimes {
  Nanoseconds copied_in = 0;  ///< the own vector, for the others
  Nanoseconds reduced = 0;    ///< the own slices, over all members
  Nanoseconds gathered = 0;   ///< as carrier: the others' slices of the sum
  Nanoseconds shared = 0;     ///< the result put out for the others, and taken from them

  NodeTimes& operator+=(const NodeTimes& other) {
    copied_in += other.copied_in;
    reduced += other.reduced;
    gathered += other.gathered;
    shared += other.shared;
    return *this;
  }
};

}  // namespace nezha
