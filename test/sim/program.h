// SPDX-License-Identifier: BSD-3-Clause
/// What the simulated ranks do: teams, and the calls on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nezha/nezha.h"
#include "rail/sim/random.h"
#include "util/collective.h"

namespace nezha::test {

struct TeamSpec {
  std::string name;
  std::vector<int> members;  ///< job ranks by rank of the team, in any order
  int thread = 0;            ///< of every member: threads have teams of their own, as MPI wants it
  bool within_node = false;  ///< all members are on one node, and use the memory that they share, or the incumbent
};

struct CallSpec {
  std::size_t team = 0;
  Collective collective = Collective::allreduce;
  std::vector<std::size_t> counts;  ///< elements of each rank's block, where they matter; they add up to `count`
  int root = 0;
  std::size_t count = 1;
  std::size_t element = 4;
  nezha_type_t type = NEZHA_FLOAT;
  nezha_op_t op = NEZHA_SUM;
  bool in_place = false;
  bool hostile = false;      ///< floats whose sums depend on the order; else all values are exact
  bool last = false;         ///< the team is given up behind it
  bool nonblocking = false;  ///< the thread goes on with its next call at once
  std::uint64_t seed = 0;
  std::size_t begin = 0;     ///< bytes of the vector that come before this one, its part

  std::size_t bytes() const { return count * element; }
  /// Of the team: it passes a type of the same signature that the engine has no kernel for; -1: all pass `type`.
  int rank_without_kernel() const { return seed % 32 == 0 ? static_cast<int>(seed / 32 % 8) : -1; }
  /// Contributions are added up.
  bool reduces() const { return collective != Collective::allgather && collective != Collective::broadcast; }
  /// Of an allgather, or a broadcast: the whole vector comes to all.
  bool hands_round() const { return !reduces(); }
  /// That rank of the team hands in and gets its values in one place.
  bool in_place_at(int rank) const;
};

/// Sizes of what is drawn.
struct ProgramShape {
  int ranks = 2;
  int threads = 1;
  std::size_t calls = 30;
  std::size_t largest = 256 * 1024;  ///< bytes of a vector
  double nonblocking = 0;            ///< that part of the calls
  double large = 0;                  ///< that part of the allreduces has vectors of an eighth of `largest` and more
  bool repeats = false;              ///< calls are like earlier ones, as in a loop: tables then learn
  std::vector<int> nodes;            ///< by rank, where those of one share memory; else empty
};

/// All ranks go through `calls` in this order, each thread through those of its own teams: that cannot deadlock.
struct Program {
  std::vector<TeamSpec> teams;
  std::vector<CallSpec> calls;

  Program() = default;
  Program(const ProgramShape& shape, SimRandom& random);
};

}  // namespace nezha::test
