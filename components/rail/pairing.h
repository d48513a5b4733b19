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
/// - those of one network i-th with i-th, the shorter list repeats;
/// - those whose network the other side does not have, i-th with i-th among themselves likewise (routed).
/// Of lanes of several transports between the same two devices only those of the highest precedence are left: a NIC counts once.
/// Where one side does not have that transport the others are still there.
/// Beyond kMaxRails entries lists are not looked at.
std::vector<RailPair> pair_rails(std::span<const RailAddress> mine, std::span<const RailAddress> theirs);

/// Two processes of one node have a lane over its loopback, and those that pair_rails() finds only while that one does not come
/// up. Not where both are known to be in networks of their own, as containers may be.
bool share_loopback(const Loopback& mine, const Loopback& theirs);
/// Two processes of one node are known not to reach each other but through their rails, as if on two nodes.
bool live_apart(const Loopback& mine, const Loopback& theirs);

}  // namespace nezha
