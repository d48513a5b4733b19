// SPDX-License-Identifier: BSD-3-Clause
/// The lane for what is to keep to one rail.
#pragma once

#include <span>

#include "trunk/lane_state.h"

namespace nezha {

/// Both ends of a trunk, without a word between them, choose the same one: the first lane that is not clearly slower than the
/// others, whose rates follow what they carry and change places all the time. `rails`: of whose lanes; 0 = of all. Null: none
/// is usable.
LaneState* preferred_lane(std::span<LaneState> lanes, RailSet rails);

}  // namespace nezha
