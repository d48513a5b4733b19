// SPDX-License-Identifier: BSD-3-Clause
/// What calls of a program are given, and what they must come to.
#pragma once

#include <cstddef>
#include <vector>

#include "alg/call.h"
#include "program.h"
#include "util/params.h"

namespace nezha::test {

using Bytes = std::vector<std::byte>;

/// How an allreduce by way of the nodes' memory is cut between nodes.
struct Cutting {
  std::size_t parts = 0, segment = 0;  ///< carriers, and bytes of a segment; no parts: within one node
  bool as_allreduce = false;           ///< of a reduce_scatter
  bool operator==(const Cutting&) const = default;
};

/// How a call was carried.
struct Carried {
  AlgorithmChoice algorithm = AlgorithmChoice::automatic;
  bool shared = false;  ///< by way of the nodes' memory
  Cutting cutting;      ///< then
  bool operator==(const Carried&) const = default;
};

/// Bytes of a vector.
struct Range {
  std::size_t begin, bytes;
};

/// The reduction of a call: a kernel, or (for NEZHA_TYPE_OTHER) a function of the test.
Reducer reducer_of(const CallSpec& call);

/// The block of that rank of the team; not of an allreduce or a barrier.
Range block_of(const CallSpec& call, int rank);
/// The part of the vector that is the result at that rank.
Range result_at(const CallSpec& call, int rank);

/// The ranks of a team, of node after node.
std::vector<int> ranks_of(const std::vector<std::vector<int>>& nodes);

/// What `rank` of the team contributes to the sum, or hands round.
Bytes contribution(const CallSpec& call, int rank);

/// The vector of results, bit by bit. `order`: the team's ranks in ring order.
Bytes expected_result(const CallSpec& call, AlgorithmChoice algorithm, const std::vector<int>& order);

/// The same for one by way of the nodes' memory. `nodes`: the team's ranks by node, in the order in which they carry.
Bytes expected_result(const CallSpec& call, AlgorithmChoice algorithm, const std::vector<std::vector<int>>& nodes,
                      const Cutting& cutting);

}  // namespace nezha::test
