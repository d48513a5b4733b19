// SPDX-License-Identifier: BSD-3-Clause
/// One call at a time by way of the nodes' shared memory: two carriers (util/carrier.h), that of the node around that of the
/// counterparts. It is added up on the node, between nodes segment by segment, and shared on the node, so that the three
/// overlap. Of a broadcast the root's node hands its vector to the carriers first, of a reduction carriers hand the result to
/// the root. Blocks of a reduce_scatter or an allgather go in columns (block_vectors.h). A team has several tracks
/// (hierarchy.h), which go on independently: each has lines and slots of its own in the memory, and ids of its own between
/// nodes. Guarded by the engine's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

#include "engine/aggregation/aggregated_carrier.h"
#include "engine/block_vectors.h"
#include "engine/operations.h"
#include "node/node_stage.h"

namespace nezha {

/// The system refuses memory before anything of a call has begun: the team can fail without harm.
struct NoRoom : std::bad_alloc {};

class HierarchyTrack {
 public:
  /// Where the root of a broadcast or a reduction is.
  struct Root {
    std::uint32_t member = kNoMember;  ///< of this node; kNoMember: on another one
    int node = 0;                      ///< which, and so the counterpart there
  };

  /// `id`: of the operations between nodes. `between`: the counterparts; null: this rank carries nothing. The view, `buffers`
  /// and `clock`, which may be null, outlive this.
  HierarchyTrack(TeamId id, const TeamView* between, BufferPool& buffers, Columns columns, const Clock* clock);
  HierarchyTrack(const HierarchyTrack&) = delete;
  HierarchyTrack& operator=(const HierarchyTrack&) = delete;

  /// The node's memory is there. A rank that is alone on its node has none.
  void share(const NodeMemory& memory, const NodeStageOptions& options);
  /// Calls go through aggregators too. This rank carries. See AggregatedCarrier.
  void use(Stars& stars, StarLinks& links) { between_->use(stars, links); }
  /// Of the latest call: see AggregatedCarrier.
  std::size_t aggregated() const { return between_ ? between_->aggregated() : 0; }
  bool went_through() const { return between_ && between_->went_through(); }
  /// Elements of more bytes cannot be carried.
  std::size_t largest_element() const { return stage_ ? stage_->largest_element() : ~std::size_t{0}; }

  /// The one before it is over. `carriers`: those of each node, none where there is one node. `segment`: bytes.
  /// `call.chunk` is for a segment. `root`: of calls that have one. May throw NoRoom.
  OpNumber begin(const Call& call, AlgorithmChoice choice, std::span<const std::uint32_t> carriers, std::size_t segment,
                 const Root& root);
  bool under_way() const { return under_way_; }
  /// The call of that number has come to its end, with or without a result.
  bool over(OpNumber number) const { return number < begun_calls_ || !under_way_; }
  /// Goes on without blocking. True when anything moved.
  bool poll();
  /// It waits for nobody but members of this node.
  bool waits_for_node_only() const { return stage_ && (!carries() || between_->idle()); }
  /// Ends what is under way without a result. `tells`: the counterparts are told, be anything under way or not.
  void fail(const Failure& failure, bool tells);

  TeamId id() const { return id_; }
  const BlockVectors& blocks() const { return blocks_; }
  /// Null: this rank carries nothing.
  Operations* operations() { return operations_ ? &*operations_ : nullptr; }
  const Operations* operations() const { return operations_ ? &*operations_ : nullptr; }
  /// Null: this rank is alone on its node.
  const NodeStage* stage() const { return stage_ ? &*stage_ : nullptr; }
  /// For how long segments were under way between nodes.
  Nanoseconds between() const { return between_ ? between_->took() : 0; }

 private:
  bool carries() const { return between_.has_value(); }
  void set_members(NodeCall& call);
  void make_room(const NodeCall& call);
  void prepare(NodeCall& call, std::size_t segment);
  bool end();
  void let_go();
  void begin_between(AlgorithmChoice choice, std::size_t segment);

  const TeamId id_;
  const TeamView* const between_view_;
  BufferPool& buffers_;
  BlockVectors blocks_;
  std::optional<NodeMemory> memory_;
  std::optional<NodeStage> stage_;
  std::optional<Operations> operations_;
  std::optional<AggregatedCarrier> between_;
  OpNumber begun_calls_ = 0;

  // The call under way.
  bool under_way_ = false;
  Call call_;
  Root root_;
  std::byte* sums_ = nullptr;  ///< where the node's value of the own part lies: the vector that gets the result, or `room_`
  BufferPool::Buffer room_;    ///< of a carrier that gets no result; what is outside its part is not touched
};

}  // namespace nezha
