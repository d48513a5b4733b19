// SPDX-License-Identifier: BSD-3-Clause
/// Which allreduces are tested. The full product of kinds, counts, ranks, algorithms and in place or not would take
/// hours, so there is a world for each pair of ranks and algorithm, and each world makes every kind of reduction once.
/// Its count and whether it is in place turn with the kind and the world, so that every two values of any two
/// dimensions meet somewhere; Matrix.CoversEveryPair shows that they do.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kinds.h"

namespace nezha::test {

constexpr std::array kRankCounts = {2, 3, 4, 5, 7, 8};
constexpr std::array kAlgorithms = {"auto", "ring", "mesh", "single_step", "doubling", "halving"};

struct World {
  std::size_t index;
  int ranks;
  std::string algorithm;

  Settings settings() const;
  /// Names of the ranks' nodes; in every other world neighbours in the ring are not neighbours in rank.
  std::vector<std::string> nodes() const;
};

constexpr std::size_t kWorlds = kRankCounts.size() * kAlgorithms.size();
World world(std::size_t index);

/// Some counts are given as numbers, some as the bytes whose limit they touch or cross.
constexpr std::size_t kCountChoices = 15;
std::size_t count_choice(std::size_t choice, std::size_t element, int ranks);

struct Case {
  std::size_t kind;
  std::size_t choice;  ///< of the count
  bool in_place;
};
/// The case of that kind in that world.
Case make_case(const World& world, std::size_t kind);

}  // namespace nezha::test
