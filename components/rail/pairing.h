// SPDX-License-Identifier: BSD-3-Clause
/// Which rails of two processes become lanes. A pure function of what both published, so that both compute the same
/// set (each from its own side) without talking.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rail/rail.h"

namespace nezha {

struct RailPair {
  std::uint8_t local = 0;   ///< index into `mine`
  std::uint8_t remote = 0;  ///< index into `theirs`

  auto operator<=>(const RailPair&) const = default;
};

/// The lanes between two processes, sorted, without duplicates; pair_rails(b, a) is pair_rails(a, b) with the sides
/// exchanged. Only rails of one transport and family are paired:
/// - those of one network (same prefix length and network part) i-th with i-th, the shorter list repeats;
/// - those whose network the other side does not have, i-th with i-th among themselves likewise (routed);
/// - on one node exactly one lane, between the first rails; except that loopback rails, which exist only to imitate
///   several networks on one node, pair by the rules above.
/// Beyond kMaxRails entries lists are not looked at.
std::vector<RailPair> pair_rails(std::span<const RailAddress> mine, std::span<const RailAddress> theirs,
                                 bool same_node);

}  // namespace nezha
