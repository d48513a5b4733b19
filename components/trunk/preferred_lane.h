// SPDX-License-Identifier: BSD-3-Clause
/// The lane for what is to keep to one rail.
#pragma once

#include <cstddef>
#include <span>

#include "trunk/lane_state.h"

namespace nezha {

/// For `bytes` (> 0) both ends of a trunk, without a word between them, choose the same one: the first lane on which they do not
/// take clearly longer to arrive than on the others. Rates follow what lanes carry, and round trips the machine's moods, so that both
/// differ a little from end to end and from moment to moment. `rails`: of whose lanes; 0 = of all. Null: none is usable.
LaneState* preferred_lane(std::span<LaneState> lanes, RailSet rails, std::size_t bytes);

}  // namespace nezha
