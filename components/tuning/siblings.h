// SPDX-License-Identifier: BSD-3-Clause
/// What carries a collective other than allreduce. Nothing is learned of these yet: the choice follows from what was agreed, the
/// size and the number of ranks alone, by a cost model with fixed rates.
#pragma once

#include <cstddef>

#include "tuning/candidate.h"
#include "tuning/plan.h"
#include "util/collective.h"

namespace nezha {

/// Of a vector of `bytes` in elements of `element` among `size` ranks. Ring, mesh or halving, or the incumbent where the plan
/// leaves the call; its `chunk` is in bytes, a multiple of `element`. Of a barrier only the incumbent says something.
Candidate sibling_way(const Plan& plan, Collective collective, std::size_t bytes, std::size_t element, int size);

}  // namespace nezha
