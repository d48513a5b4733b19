// SPDX-License-Identifier: BSD-3-Clause
/// How the ranks of a simulated world's nodes share memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/hierarchy.h"
#include "rail/sim/random.h"

namespace nezha::test {

/// What the system refuses a process.
enum class Refusal { none, listening, making, mapping, reading };

struct Sharing {
  bool any = false;               ///< ranks of a node do
  SharingOptions options;         ///< but for the system
  Refusal refusal = Refusal::none;
  int refused = 0;                ///< the rank

  bool refuses(int rank, Refusal what) const { return refusal == what && refused == rank; }
  /// Some teams will have no memory.
  bool lacks() const { return any && refusal != Refusal::none && refusal != Refusal::reading; }
  std::string text() const;
};

/// Small sizes, so that vectors have many chunks and segments.
Sharing draw_sharing(SimRandom& random, int ranks);
/// By rank, as numbers: few nodes, unequal ones, in the order of ranks or in none.
std::vector<int> draw_nodes(SimRandom& random, int ranks);

}  // namespace nezha::test
