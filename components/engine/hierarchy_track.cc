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
    if (Columns::carry(call.collective)) {
      begin_blocks(on_node, segment);
    } else {
      set_members(on_node);
      make_room(on_node);
      on_node.recv = sums_;
    }
    stage_->begin(on_node);
  }
  if (carries()) begin_between(choice, segment);
  under_way_ = true;
  return ++begun_calls_;
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
  try {
    room_ = buffers_.take(call.bytes);
  } catch (const std::bad_alloc&) {
    throw NoRoom();
  }
  sums_ = room_.data();
}

void HierarchyTrack::begin_blocks(NodeCall& call, std::size_t segment) {
  const int node = between_view_ != nullptr ? between_view_->position : 0;
  try {
    blocks_.begin(call_, {static_cast<std::size_t>(node), memory_->self()}, segment, call, buffers_);
  } catch (const std::bad_alloc&) {
    throw NoRoom();
  }
}

/// In place, but for a rank that is alone on its node.
void HierarchyTrack::begin_between(AlgorithmChoice choice, std::size_t segment) {
  const NodeRange part = stage_ ? stage_->part() : NodeRange{0, call_.bytes()};
  Call call = call_;
  if (Columns::carry(call_.collective)) {
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
  if (Columns::carry(call_.collective) && blocks_.deliver()) return true;
  blocks_.give_back();
  under_way_ = false;
  room_.give_back();
  return true;
}

void HierarchyTrack::fail(const Failure& failure, bool tells) {
  if (operations_ && (tells || operations_->active())) operations_->fail(failure);
  under_way_ = false;
  room_.give_back();
  blocks_.give_back();
  if (carries()) between_->fail();
}

}  // namespace nezha
