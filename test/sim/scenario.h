// SPDX-License-Identifier: BSD-3-Clause
/// Worlds made by hand: some nodes with equal rails, one team, the same call a few times, and what a test makes happen in
/// the middle of one of them. For tests of one fault at a time, in virtual time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "world.h"

namespace nezha::test {

struct Scenario {
  int ranks = 4;
  int per_node = 1;  ///< with more, nodes have a loopback
  std::size_t rails = 2;
  bool rdma = false;  ///< is what each rank's last rail is for
  double rate = 0.125;  ///< bytes per nanosecond and rail
  double last_rate = 0;  ///< of each rank's last rail; 0 = as the others
  Nanoseconds first_delay = 0;  ///< one way, of each rank's first rail; 0 = as the others'
  AlgorithmChoice algorithm = AlgorithmChoice::ring;
  std::size_t bytes = 1024 * 1024;
  bool in_place = false;
  RailSet keeps_to = 0;     ///< rails; 0 = all
  bool learn = false;       ///< where the algorithm is automatic
  std::size_t small_calls = 0;  ///< of a few bytes, before the others
  std::size_t calls = 3;        ///< in all
  Nanoseconds thought = 0;  ///< at most, between two calls
  int timeout = 60;         ///< seconds
  std::uint64_t seed = 1;
  bool talks = false;       ///< prints what happens
};

/// What came of it.
struct Story {
  std::string failure;              ///< empty: all is well
  std::vector<Nanoseconds> took;    ///< by call, from its first rank's beginning to its last one's end
  std::vector<Nanoseconds> ended;   ///< by call, on its last rank
  std::vector<std::uint64_t> sent;  ///< by rank: bytes over all rails; 0: it is dead
  std::uint64_t lanes_lost = 0, suspicions = 0, failed = 0;
};

inline constexpr Nanoseconds kForEver = 1000 * kSecond;

inline int ranks_of(World& world) { return world.setting().shape.ranks; }

constexpr std::size_t kBeforeAllCalls = static_cast<std::size_t>(-1);

/// Called `after` the beginning of call `call`, on its first rank; call 0 is the one that waits for the lanes. With
/// kBeforeAllCalls: after the beginning of all.
struct Happening {
  std::size_t call = 1;
  Nanoseconds after = 0;
  std::function<void(World&)> what;
};

Story play(const Scenario& scenario, std::vector<Happening> happenings);

}  // namespace nezha::test
