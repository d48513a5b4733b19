// SPDX-License-Identifier: BSD-3-Clause
/// Every kind of reduction that is tested: all pairs of type and operation that have a kernel, and some that only the
/// host can reduce. Each knows how to make data and how to fold two vectors, element by element and in plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ranks.h"

namespace nezha::test {

struct Kind {
  std::string name;
  nezha_type_t type;
  nezha_op_t op;
  std::size_t element;  ///< bytes
  void (*fill)(std::byte* out, std::size_t count, std::uint64_t seed);
  HostOperation host;   ///< its fold makes out = a op b; out may be a or b
};

/// All of them. Static storage.
const std::vector<Kind>& kinds();
/// The one with that name.
const Kind& kind(std::string_view name);

/// A vector of one rank.
std::vector<std::byte> make_vector(const Kind& kind, std::size_t count, std::uint64_t seed);

/// What an allreduce over `vectors` (by position in the ring) must give, to the bit, when each block of the vector is
/// folded around the ring (ring, mesh, single-step mesh).
std::vector<std::byte> ring_result(const Kind& kind, std::span<const std::vector<std::byte>> vectors);
/// The same when halves of the team are added up, lower half left (recursive doubling).
std::vector<std::byte> tree_result(const Kind& kind, std::span<const std::vector<std::byte>> vectors);
/// The same when each block is added up by halving: what is a distance away goes on the left, the distance being the
/// team's size halved, rounded up, and so on to 1 (recursive halving).
std::vector<std::byte> halving_result(const Kind& kind, std::span<const std::vector<std::byte>> vectors);

/// What ranks hand in, vectors made of their numbers, and what an allreduce must give.
struct Sums {
  std::vector<std::vector<std::byte>> vectors;  ///< by rank; those of ranks that take no part are empty
  std::vector<std::byte> result;                ///< if the ranks have these positions in the ring
};
/// `order`: ranks by position. Where a thread asks for the same again, the last few are still known: they take longer to make
/// than the call takes. Valid until it asks for others.
const Sums& ring_sums(const Kind& kind, std::size_t count, const std::vector<int>& order);

/// The call of one rank; `kind` outlives it.
nezha_call_t make_call(const Kind& kind, std::size_t count, const std::byte* send, std::byte* recv);

}  // namespace nezha::test
