// SPDX-License-Identifier: BSD-3-Clause
/// The collectives that operations carry, and sets of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "util/status.h"

namespace nezha {

enum class Collective : std::uint8_t { allreduce, reduce_scatter, allgather, broadcast, reduce, barrier };

/// Whether one member alone has what all get, or gets what all have.
constexpr bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce;
}

/// Whether each member has a part of the vector to itself, that it hands in or gets.
constexpr bool has_blocks(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::allgather;
}

/// MPI's name of it.
std::string_view name_of(Collective collective);

struct CollectiveSet {
  unsigned bits = 0;  ///< 1 << Collective for each
  /// The same for those of which only large vectors are carried, and only where that pays.
  unsigned large = 0;
};

/// MPI's names of them, separated by commas, or "all", or "auto": all but barriers, as `large`. The names also stand for the
/// forms with blocks of any sizes and for those that do not block.
Status parse(std::string_view text, CollectiveSet& set);

}  // namespace nezha
