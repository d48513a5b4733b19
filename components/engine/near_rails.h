// SPDX-License-Identifier: BSD-3-Clause
/// Which ranks of a node carry vectors between nodes, where not all do: those near its NICs, so that what they send need not cross
/// the machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/affinity.h"
#include "rail/rail_address.h"
#include "util/rail_set.h"

namespace nezha {

/// Of `rails`, by their numbers, those whose NICs share their part of the machine with a processor of `affinity`.
RailSet rails_near(std::span<const RailAddress> rails, const Affinity& affinity, const std::string& sysfs = "/sys");

/// A rank of a node, and what it is near.
struct NearRank {
  int rank = 0;
  RailSet near = 0;
};

/// The ranks of a node in the order in which they carry: for each rail in turn the next that is near it, and those behind that are near
/// none. Their own order where all are near the same.
std::vector<int> carrying_order(std::span<const NearRank> ranks);

}  // namespace nezha
