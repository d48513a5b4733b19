// SPDX-License-Identifier: BSD-3-Clause
/// A model of an allreduce's time by its steps and its traffic. It is good enough to order candidates and to leave out
/// hopeless ones; measurements decide.
#pragma once

#include <cstddef>

#include "util/params.h"

namespace nezha {

/// Nanoseconds. `rate`: bytes per nanosecond that a rank sends over all its rails together, > 0. Of an algorithm of ours.
double cost(AlgorithmChoice algorithm, std::size_t bytes, int ranks, double rate);

/// Nanoseconds that any allreduce takes at least whose ranks reduce and send by themselves, each at `rate`, > 0: a rank has to
/// send 2(n-1)/n times the vector (Patarasuk and Yuan, 2009).
double least_cost(std::size_t bytes, int ranks, double rate);

}  // namespace nezha
