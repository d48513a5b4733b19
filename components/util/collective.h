// SPDX-License-Identifier: BSD-3-Clause
/// The collectives that operations carry.
#pragma once

#include <cstdint>

namespace nezha {

enum class Collective : std::uint8_t { allreduce, reduce_scatter, allgather, broadcast, reduce, barrier };

}  // namespace nezha
