// SPDX-License-Identifier: BSD-3-Clause
/// Collectives over the members of a team on one node (NodeCall), in shared memory: one operation at a time, driven by its
/// caller. Alone it is the whole operation; with carriers it is what happens before and after a stage between nodes:
///   begin(call); while (!over()) { poll(); stage works on part() up to reduced_up_to(); supply(as far as it is final);
///   }
/// All members begin the same operations in the same order; who hands a vector out may be over before others begin. The order of sums is that of the members, whatever the way.
/// Not thread-safe: one thread at a time. Nothing blocks; to wait, see node_wait.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "node/chunked_operation.h"
#include "node/node_call.h"
#include "node/node_memory.h"
#include "node/small_operation.h"
#include "util/carrier.h"
#include "util/status.h"

namespace nezha {

/// Alike on all members but for `clock` and `system`.
struct NodeStageOptions {
  NodeAccess access = NodeAccess::copies;  ///< what all members can do (node_trial.h)
  /// Bytes from which vectors are read by single copy. Never, unless a team has found it faster than two copies through
  /// caches: where it was measured (Zen 3, virtual machine) the kernel took twice as long at all sizes.
  std::size_t single_copy_from = SIZE_MAX;
  std::size_t single_copy_chunk = 1024 * 1024;  ///< bytes of a chunk with single copy
  const Clock* clock = nullptr;  ///< for times(); outlives the stage. Null: nothing is timed
  const NodeSystem* system = &NodeSystem::real();  ///< outlives the stage
};

/// How many operations of each kind a member has begun.
struct NodeBegun {
  std::uint64_t small = 0, chunked = 0;
};

/// True when the member whose announced operations `small` and `chunked` load calls otherwise than this one, which has
/// begun `own`: all begin the same operations in the same order, so that a member that lacks one of a kind is not ahead
/// in the other. It goes on meanwhile: the kind that it may be ahead in is loaded before the one that it may lack.
template <typename Small, typename Chunked>
bool began_another_kind(const NodeBegun& own, Small&& small, Chunked&& chunked) {
  const std::uint64_t chunked_before = chunked();
  const std::uint64_t smalls = small();
  if (smalls < own.small) return chunked_before > own.chunked;
  return smalls > own.small && chunked() < own.chunked;
}

class NodeStage {
 public:
  /// `memory` outlives this.
  NodeStage(NodeMemory& memory, const NodeStageOptions& options);

  /// Elements of more bytes cannot be carried.
  std::size_t largest_element() const { return memory_.chunk(); }

  /// The operation before it is over.
  void begin(const NodeCall& call);
  /// Goes on as far as it can without blocking, by a few chunks at most. True if anything moved.
  bool poll();

  /// What this member carries between nodes. Empty for others, and where the node is alone.
  NodeRange part() const { return part_; }
  /// The node's value lies in the call's recv from part().begin up to here. With reducing in place of the stage between
  /// nodes the caller may change these bytes, up to where it has supplied; not where one member's vector is handed out,
  /// which all take within the node.
  std::size_t reduced_up_to() const { return operation_ == nullptr ? part_.end : operation_->reduced_up_to(); }
  /// The result lies in the call's recv from part().begin up to here; grows. These bytes must not change any more.
  void supply(std::size_t up_to);
  /// The result lies in the call's recv up to here, if this member gets it.
  std::size_t final_up_to() const { return operation_ == nullptr ? call_.bytes : operation_->final_up_to(); }
  /// The result is final, and no member refers to this one's vectors any more.
  bool over() { return failed_.ok() && (operation_ == nullptr || operation_->over()); }

  /// What its chunked operations took.
  const NodeTimes& times() const { return chunked_.times(); }

  /// Not ok: the operation will never be over, because of a member that died, gave up, called differently or whose
  /// memory cannot be read. The others are told. The stage is of no use any more; until it and its memory are gone at
  /// all members, neighbours may still read the call's vectors.
  const Status& failed() const { return failed_; }
  /// As give_up() has it.
  std::uint32_t failed_member() const { return failed_member_; }
  /// Ends what is under way for all members, on an error of the caller's: `because_of` is whom the others name, see
  /// NodeMemory::give_up().
  void give_up(std::uint32_t because_of) { memory_.give_up(because_of); }

 private:
  void look_for_trouble();
  void look_for_gone();
  void fail_without(std::uint32_t missed);
  void fail(std::uint32_t member, Status why);
  bool calls_differently(std::uint32_t member) const;

  NodeMemory& memory_;
  const NodeStageOptions options_;
  SmallOperation small_;
  ChunkedOperation chunked_;
  NodeOperation* operation_ = nullptr;  ///< nullptr before the first call, and for empty vectors
  NodeCall call_;
  NodeRange part_;
  NodeBegun begun_;
  unsigned idle_ = 0;  ///< polls in a row that moved nothing
  Status failed_;
  std::uint32_t failed_member_ = 0;
};

static_assert(OuterCarrier<NodeStage>);

}  // namespace nezha
