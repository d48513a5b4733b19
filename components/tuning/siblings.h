// SPDX-License-Identifier: BSD-3-Clause
/// What may carry a collective other than allreduce, and what it should cost. All of it follows from what was agreed,
/// the size and the number of ranks alone, by a cost model with fixed rates, so that all ranks get the same.
#pragma once

#include <cstddef>
#include <vector>

#include "tuning/candidates.h"

namespace nezha {

/// What carries a vector of `bytes` in elements of `element` among `size` ranks as long as nothing was measured: ring,
/// mesh or halving, or the incumbent if the plan leaves the call to it. Of a barrier only the incumbent counts. Under a
/// reproducible plan sums have the ring's order.
AlgorithmChoice sibling_choice(const Plan& plan, Collective collective, std::size_t bytes, std::size_t element,
                               int size);

/// Bytes of a chunk, a multiple of `element`.
std::size_t sibling_chunk(const Plan& plan, Collective collective, const Candidate& way, std::size_t bytes,
                          std::size_t element, int size);

/// See candidates(), possible() and least_time() in candidates.h, which ask these where terms.collective is no
/// allreduce.
std::vector<Candidate> sibling_candidates(std::size_t size_class, const Terms& terms);
bool sibling_possible(const Candidate& candidate, std::size_t size_class, const Terms& terms);
/// As a multiple of the vector, what the rank that sends most sends at least.
double sibling_traffic(const Candidate& candidate, const Terms& terms);

}  // namespace nezha
