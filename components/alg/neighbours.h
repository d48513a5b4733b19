// SPDX-License-Identifier: BSD-3-Clause
/// Which members of a team exchange pieces: a rank needs lanes to those only. Symmetric, so that both ends of a lane
/// want it.
#pragma once

#include <vector>

namespace nezha {

/// The distances of halving and of the barrier: half of `size`, rounded up, and so on to 1. For 1: none.
std::vector<int> halved_distances(int size);

/// The positions that the one at `position` sends to or gets something from, in their order. By any algorithm but the
/// meshes, which need all; there are at most 4 log2(size) + 2 of them. `all`: by the meshes too.
std::vector<int> neighbours(int size, int position, bool all);

}  // namespace nezha
