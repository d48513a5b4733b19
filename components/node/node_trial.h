// SPDX-License-Identifier: BSD-3-Clause
/// How the members of a node read each other's vectors: every member tries to read a few bytes of every other one, and
/// says in the memory whether it could. Single copy is used only if all could, because all have to use the same way.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "node/node_memory.h"
#include "node/node_system.h"

namespace nezha {

enum class NodeVerdict : std::uint64_t { none, can, cannot };

class NodeTrial {
 public:
  /// `allowed`: the best way that this process is to use. `memory` and `system` outlive this; this outlives the operations.
  NodeTrial(NodeMemory& memory, NodeAccess allowed, const NodeSystem& system);
  NodeTrial(const NodeTrial&) = delete;
  NodeTrial& operator=(const NodeTrial&) = delete;

  /// Says that this member is there. Once.
  Status arrive();
  /// Goes on without blocking. True once all members agree on access().
  bool poll();

  NodeAccess access() const { return access_; }
  /// Why access() is no better, in a sentence; empty for single copy.
  const std::string& why() const { return why_; }
  /// The first member that has not arrived, or whose verdict is missing.
  std::uint32_t awaited() const { return awaited_; }

 private:
  NodeVerdict try_all();
  bool try_one(std::uint32_t member);

  NodeMemory& memory_;
  const NodeAccess allowed_;
  const NodeSystem& system_;
  std::array<std::uint64_t, 8> probe_{};  ///< what the others try to read
  bool tried_ = false;
  std::uint32_t awaited_ = 0;
  NodeAccess access_ = NodeAccess::copies;
  std::string why_;
};

}  // namespace nezha
