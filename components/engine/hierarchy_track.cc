// SPDX-License-Identifier: BSD-3-Clause
#include "engine/hierarchy_track.h"

#include <utility>

namespace nezha {

HierarchyTrack::HierarchyTrack(TeamId id, const TeamView* between, BufferPool& buffers, Columns columns, const Clock* clock)
    : id_(id), between_view_(between), buffers_(buffers), blocks_(std::move(columns)) {
  if (between == nullptr) return;
  operations_.emplace(*between, 0);
  operations_->set_team(id_);
  between_.emplace(*operations_, clock);
}

void HierarchyTrack::share(const NodeMemory& memory, const NodeStageOptions& options) {
  memory_.emplace(memory);
  stage_.emplace(*memory_, options);
}

OpNumber HierarchyTrack::begin(const Call& call, AlgorithmChoice choice, std::span<const std::uint32_t> carriers,
                               std::size_t segment, const Root& root) {
  call_ = call;
  root_ = root;
  sums_ = call.recv;
  if (stage_) {
    NodeCall on_node{call.send, call.recv, call.bytes(), call.reducer, carriers};
    try {
      prepare(on_node, segment);
    } catch (const std::bad_alloc&) {
      throw NoRoom();
    }
    stage_->begin(on_node);
  }
  if (carries()) begin_between(choice, segment);
  under_way_ = true;
  return ++begun_calls_;
}

/// What this rank has to have room for; throws std::bad_alloc.
void HierarchyTrack::prepare(NodeCall& call, std::size_t segment) {
  if (has_blocks(call_.collective)) {
    const auto node = static_cast<std::size_t>(between_view_ != nullptr ? between_view_->position : 0);
    return blocks_.begin(call_, {node, memory_->self()}, segment, call, buffers_);
  }
  set_members(call);
  make_room(call);
  call.recv = sums_;
}

/// Whose vectors make the node's value, and who gets the result.
void HierarchyTrack::set_members(NodeCall& call) {
  if (call_.collective == Collective::broadcast) {
    call.from = root_.member;
    call.send = call.recv;
  } else if (call_.collective == Collective::reduce && call.carriers.empty()) {
    call.carriers = std::span(&root_.member, 1);
    call.to = kNoMember;  // it lies there
  } else if (call_.collective == Collective::reduce) {
    call.to = root_.member;
  }
}

void HierarchyTrack::make_room(const NodeCall& call) {
  const std::uint32_t self = memory_->self();
  if (call_.collective != Collective::reduce || self == root_.member) return;
  if (node_part(call.carriers, self) == call.carriers.size()) return;
  room_ = buffers_.take(call.bytes);
  sums_ = room_.data();
}

/// In place, but for a rank that is alone on its node.
void HierarchyTrack::begin_between(AlgorithmChoice choice, std::size_t segment) {
  const NodeRange part = stage_ ? stage_->part() : NodeRange{0, call_.bytes()};
  Call call = call_;
  if (has_blocks(call_.collective)) {
    call = blocks_.between();
  } else {
    if (stage_ || call_.collective == Collective::broadcast) call.send = sums_;
    call.recv = sums_;
    call.root = root_.node;
  }
  between_->begin(call, choice, {part.begin, part.end}, segment);
  if (!stage_) between_->supply(part.end);
}

bool HierarchyTrack::poll() {
  bool moved = false;
  if (stage_ && carries())
    moved = poll_chain(*stage_, *between_);
  else
    moved = stage_ ? stage_->poll() : between_->poll();
  if (stage_ && !carries()) stage_->supply(stage_->reduced_up_to());  // with carriers or not, the node's value is the result
  return end() || moved;
}

/// True if it has done something for that.
bool HierarchyTrack::end() {
  if (carries() && !between_->over()) return false;
  if (stage_ && !stage_->over()) return false;
  if (has_blocks(call_.collective) && blocks_.deliver()) return true;
  let_go();
  return true;
}

void HierarchyTrack::let_go() {
  under_way_ = false;
  room_.give_back();
  blocks_.give_back();
}

void HierarchyTrack::fail(const Failure& failure, bool tells) {
  if (operations_ && (tells || operations_->active())) operations_->fail(failure);
  let_go();
  if (carries()) between_->fail();
}

}  // namespace nezha
