// SPDX-License-Identifier: BSD-3-Clause
/// What the members of a node call with, and what has to come of it: for tests of components/node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nezha/nezha.h"
#include "node/node_call.h"
#include "reduce/reducer.h"

namespace nezha::test {

/// What every member calls with.
struct NodeCase {
  nezha_type_t type = NEZHA_FLOAT;
  nezha_op_t op = NEZHA_SUM;
  std::size_t element = 4;
  std::size_t count = 1;
  bool in_place = false;
  unsigned seed = 1;
  std::vector<std::uint32_t> carriers;
  bool whole_part_first = false;  ///< the stage between nodes gives nothing back before it has all of its part
  std::uint32_t from = kEveryMember, to = kEveryMember;  ///< as in NodeCall

  std::size_t bytes() const { return count * element; }
  bool hands_out() const { return from < kNoMember; }
};

/// A member's vector: small values, with those that the order of a floating-point sum depends on.
std::vector<std::byte> node_input(const NodeCase& wanted, std::uint32_t member);

/// What the stage between nodes makes of a byte.
inline std::byte node_changed(std::byte byte) { return byte ^ std::byte{0x5a}; }

Reducer node_reducer(const NodeCase& wanted);

/// x0 op (x1 op (... xn)), element by element in the order of members; or the vector of the member that hands it out; or
/// what comes from other nodes.
std::vector<std::byte> node_expected(const NodeCase& wanted, std::uint32_t members);

}  // namespace nezha::test
