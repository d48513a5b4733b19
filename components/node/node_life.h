// SPDX-License-Identifier: BSD-3-Clause
/// Whether the processes of a node's members still run, also those that are in no call: each counts up in the memory now
/// and then, and the others look whether the count moves. One thread at a time. The caller brings the time.
#pragma once

#include <cstdint>
#include <vector>

#include "node/node_memory.h"
#include "util/clock.h"

namespace nezha {

class NodeLife {
 public:
  /// `memory` outlives this.
  explicit NodeLife(NodeMemory& memory) : memory_(memory), seen_(memory.members()) {}

  /// This process runs. Wakes nobody.
  void beat() {
    std::uint64_t& count = memory_.member(memory_.self()).beat;
    NodeMemory::put(count, NodeMemory::peek(count) + 1);
  }

  /// For how long the member's count has stood still while this was asked. After a while without a question, in which
  /// this process may have been stopped itself, the time begins anew.
  Nanoseconds quiet(std::uint32_t member, Nanoseconds now) {
    Seen& seen = seen_[member];
    const std::uint64_t count = NodeMemory::peek(memory_.member(member).beat);
    if (count != seen.count || now - seen.asked > kForgotten) seen.since = now;
    seen.count = count;
    seen.asked = now;
    return now - seen.since;
  }

 private:
  static constexpr Nanoseconds kForgotten = kSecond;

  struct Seen {
    std::uint64_t count = 0;
    Nanoseconds since = 0, asked = 0;
  };

  NodeMemory& memory_;
  std::vector<Seen> seen_;
};

}  // namespace nezha
