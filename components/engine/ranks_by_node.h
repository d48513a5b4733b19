// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace nezha {

/// Ranks of a team by node: nodes in the order of their lowest ranks, those of a node in that in which they carry (near_rails.h).
using RanksByNode = std::vector<std::vector<int>>;

}  // namespace nezha
