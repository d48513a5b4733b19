// SPDX-License-Identifier: BSD-3-Clause
/// Tests that are run for both ways to read neighbours' vectors.
#pragma once

#include "node_members.h"

namespace nezha::test {

inline const NodeStageOptions kCopies{.access = NodeAccess::copies};
inline const NodeStageOptions kSingleCopy{
    .access = NodeAccess::single_copy, .single_copy_from = 0, .single_copy_chunk = 64 * 1024};

struct Way {
  const char* name;
  NodeStageOptions options;
};

class NodeStageTest : public testing::TestWithParam<Way> {};

}  // namespace nezha::test
