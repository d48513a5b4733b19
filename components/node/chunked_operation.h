// SPDX-License-Identifier: BSD-3-Clause
/// Vectors of any size, chunk by chunk (NodeCut). Where a call folds, every member reduces its own slice of each chunk
/// over the contributions of all, in the order of members; where it gathers, all of it comes from one of them. For each chunk, in this order:
///   contribute   copies: the slices of the others go into the own `in` slot
///   reduce       the own slice goes to the carrier's vector or, for it, into the own `out` slot; alone: into the own
///                vector and, with copies, into the own `share` slot
///   gather       the carrier copies the other slices from the `out` slots into its vector
///   (a stage between nodes works on the carrier's vector)
///   share        copies: the carrier's `share` slot; then who gets the result copies it, and it is taken
/// Of a call that hands out one member's vector only the last stage is left, with that member for the carrier; a
/// carrier's part then goes on to other nodes as far as it is taken. Where the result comes from other nodes alone,
/// carriers share it. The flags of stages that a member has no part in say at once that it is done.
/// With single copy, contributions and results are read from the neighbours' vectors instead of `in` and `share` slots.
///
/// A slot is used again kNodeDepth chunks later: `in` once all have reduced, `out` once the carrier has gathered,
/// `share` once all have taken. So reducing and gathering never wait for sharing, unless the node is alone: a stage
/// between nodes may want the whole vector before it gives anything back.
#pragma once

#include <array>
#include <vector>

#include "node/node_operation.h"
#include "node/node_system.h"
#include "node/node_times.h"

namespace nezha {

class ChunkedOperation final : public NodeOperation {
 public:
  /// `chunk`: bytes of a chunk where none goes through a slot, that is alone and with single copy. `clock`,
  /// `system`: see NodeStageOptions.
  ChunkedOperation(NodeMemory& memory, std::size_t chunk, const Clock* clock, const NodeSystem& system);

  /// `access` may differ from operation to operation, but not from member to member.
  void set_access(NodeAccess access) { access_ = access; }

  void begin(const NodeCall& call) override;
  bool poll() override;
  std::size_t reduced_up_to() const override { return reduced_up_to_; }
  void supply(std::size_t up_to) override { supplied_up_to_ = up_to; }
  std::size_t final_up_to() const override { return cut_.done_up_to(taken_); }
  bool over() override;
  bool has_done(std::uint32_t member) override;
  /// Of all operations so far.
  const NodeTimes& times() const { return times_; }

 private:
  struct Seen {
    NodeFlag flag;
    std::uint64_t all = 0;  ///< every member's flag has reached this
  };

  bool alone() const { return call_.carriers.empty(); }
  bool copies() const { return access_ == NodeAccess::copies; }
  std::uint32_t self() const { return memory_.self(); }
  std::uint32_t carrier_of(std::uint64_t chunk) const { return call_.carriers[cut_.part_of(chunk)]; }
  bool is_carrier(std::uint64_t chunk) const { return !alone() && carrier_of(chunk) == self(); }
  /// Whose vector has the result of the chunk; not where all have a slice of it.
  std::uint32_t sharer_of(std::uint64_t chunk) const { return call_.hands_out() ? call_.from : carrier_of(chunk); }
  NodeFlags& flags(std::uint32_t member) const { return memory_.lines(member).flags; }
  /// True when the member's flag says that it is done with this chunk of the operation.
  bool reached(std::uint32_t member, NodeFlag flag, std::uint64_t chunk) const;
  bool all_reached(Seen& seen, std::uint64_t chunk);
  /// True when all are done with the chunk that used the slot of this one before it.
  bool slot_is_free(Seen& seen, std::uint64_t chunk);
  void say(NodeFlag flag, std::uint64_t done);

  bool timed(bool (ChunkedOperation::*stage)(), Nanoseconds NodeTimes::*time);
  bool announce();
  bool all_gathered() const;
  bool all_begun();
  bool begun_alike(std::uint32_t member);
  bool contribute();
  bool reduce();
  bool gather();
  bool share();
  bool share_own(const NodeRange& range);
  bool share_slices(const NodeRange& range);
  bool share_carried(const NodeRange& range);

  bool result_has_room();
  std::byte* place_of_result(const NodeRange& chunk, const NodeRange& slice);
  bool fold(const NodeRange& chunk, const NodeRange& slice, std::byte* out);
  bool collect(const NodeRange& chunk, const NodeRange& slice, std::byte* out);
  bool read_peer(std::uint32_t member, std::uint64_t from, std::byte* to, std::size_t bytes);
  std::byte* apart_from(std::uint64_t address);
  bool read(std::uint32_t member, std::uint64_t vector, const NodeRange& range, std::byte* to);
  const std::byte* contribution(std::uint32_t member, const NodeRange& chunk, const NodeRange& range, std::byte* room);

  NodeAccess access_ = NodeAccess::copies;
  const std::size_t single_chunk_;
  const Clock* const clock_;
  const NodeSystem& system_;
  NodeTimes times_;
  Nanoseconds looked_ = 0;  ///< when the clock was last read
  NodeCall call_;
  NodeCut cut_;
  std::uint64_t operations_ = 0;  ///< begun
  bool announced_ = true;         ///< the latest of them
  bool met_ = true;               ///< all members have announced the one before it
  std::uint64_t base_ = 0;        ///< chunks of the operations before this one
  std::uint64_t contributed_ = 0, reduced_ = 0, taken_ = 0;
  std::uint64_t next_carried_ = 0;  ///< the next chunk to gather; of other carriers' are skipped
  std::uint64_t next_supplied_ = 0;  ///< the next chunk to share
  std::uint64_t supplies_ = 1;       ///< every so-manieth is to be shared here
  std::size_t reduced_up_to_ = 0, supplied_up_to_ = 0;
  std::uint32_t begun_ = 0;  ///< members known to have begun
  Seen seen_contributed_{&NodeFlags::contributed}, seen_reduced_{&NodeFlags::reduced}, seen_taken_{&NodeFlags::taken};
  std::vector<std::byte> scratch_;  ///< single copy: the sum, and one contribution
};

}  // namespace nezha
