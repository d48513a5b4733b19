// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace nezha {

/// Ranks of a team by node: nodes in the order of their lowest ranks, those of a node in their own.
using RanksByNode = std::vector<std::vector<int>>;

}  // namespace nezha
