// SPDX-License-Identifier: BSD-3-Clause
/// One operation under way on one member; what NodeStage (node_stage.h) drives. Two kinds: small_operation.h, in one
/// step through slots, and chunked_operation.h.
///
/// A member announces an operation, in the memory, after all others have announced the one before it. So no member is
/// two operations ahead of another, and the announcements of the last two remain readable. A sum over all members needs
/// no such wait, because it ends after all have begun; a broadcast's or a reduction's member may end before others have
/// begun.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "node/node_call.h"
#include "node/node_memory.h"
#include "util/status.h"

namespace nezha {

class NodeOperation {
 public:
  explicit NodeOperation(NodeMemory& memory) : memory_(memory) {}
  virtual ~NodeOperation() = default;
  NodeOperation(const NodeOperation&) = delete;
  NodeOperation& operator=(const NodeOperation&) = delete;

  /// The previous one of this object is over.
  virtual void begin(const NodeCall& call) = 0;
  /// Goes on without blocking, by a chunk or so. True if anything moved.
  virtual bool poll() = 0;
  virtual std::size_t reduced_up_to() const = 0;
  virtual void supply(std::size_t up_to) = 0;
  virtual std::size_t final_up_to() const = 0;
  virtual bool over() = 0;
  /// True when nothing is awaited of the member any more.
  virtual bool has_done(std::uint32_t member) = 0;

  /// What ended it, at a neighbour's fault; ok while it goes on.
  const Status& trouble() const { return trouble_; }
  std::uint32_t troubled_by() const { return troubled_by_; }

 protected:
  void fail(std::uint32_t member, Status why) {
    if (!trouble_.ok()) return;
    trouble_ = std::move(why);
    troubled_by_ = member;
  }

  NodeMemory& memory_;

 private:
  Status trouble_;
  std::uint32_t troubled_by_ = 0;
};

/// The place of member `self` among the carriers, carriers.size() for a member that carries nothing.
inline std::size_t node_part(std::span<const std::uint32_t> carriers, std::uint32_t self) {
  return static_cast<std::size_t>(std::find(carriers.begin(), carriers.end(), self) - carriers.begin());
}

}  // namespace nezha
