// SPDX-License-Identifier: BSD-3-Clause
#include "engine/hierarchy_track.h"

#include <algorithm>
#include <utility>

namespace nezha {

HierarchyTrack::HierarchyTrack(TeamId id, const TeamView* between, const Clock* clock)
    : id_(id), clock_(clock), between_view_(between) {
  if (between == nullptr) return;
  operations_.emplace(*between, 0);
  operations_->set_team(id_);
}

void HierarchyTrack::share(const NodeMemory& memory, const NodeStageOptions& options) {
  memory_.emplace(memory);
  stage_.emplace(*memory_, options);
}

OpNumber HierarchyTrack::begin(const Call& call, AlgorithmChoice choice, std::span<const std::uint32_t> carriers,
                               std::size_t segment, const Root& root) {
  call_ = call;
  choice_ = choice;
  segment_bytes_ = segment;
  root_ = root;
  sums_ = call.recv;
  if (stage_) {
    NodeCall on_node{call.send, call.recv, call.bytes(), call.reducer, carriers};
    set_members(on_node);
    make_room(on_node);
    on_node.recv = sums_;
    stage_->begin(on_node);
    part_ = stage_->part();
  } else {
    part_ = {0, call.bytes()};
  }
  begun_ = part_.begin;
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
  room_ = between_view_->buffers->take(call.bytes);
  sums_ = room_.data();
}

bool HierarchyTrack::poll() {
  bool moved = stage_ && stage_->poll();
  if (carries()) {
    moved = end_segments() || moved;
    moved = begin_segments() || moved;
  }
  look_whether_over();
  return moved;
}

/// What goes between nodes of these bytes, in place but for a rank that is alone on its node.
Call HierarchyTrack::segment(std::size_t begin, std::size_t end) const {
  Call segment = call_;
  const std::byte* from = stage_ || call_.collective == Collective::broadcast ? sums_ : call_.send;
  segment.send = from + begin;
  segment.recv = sums_ == nullptr ? nullptr : sums_ + begin;
  segment.root = root_.node;
  segment.count = (end - begin) / call_.element;
  segment.whole = call_.bytes();
  segment.reducer.begin = call_.reducer.begin + begin;
  return segment;
}

bool HierarchyTrack::begin_segments() {
  const std::size_t before = begun_;
  while (begun_ < part_.end && operations_->room() && count_ < sent_.size()) {
    const std::size_t end = std::min(begun_ + segment_bytes_, part_.end);
    if (ready() < end) break;
    sent_[(first_ + count_++) % sent_.size()] = {operations_->start(segment(begun_, end), choice_), end};
    begun_ = end;
  }
  if (begun_ != before && between_since_ == 0 && clock_ != nullptr) between_since_ = clock_->now();
  return begun_ != before;
}

bool HierarchyTrack::end_segments() {
  bool any = false;
  for (; count_ != 0 && operations_->finished(sent_[first_].number); first_ = (first_ + 1) % sent_.size(), --count_) {
    if (stage_) stage_->supply(sent_[first_].end);
    any = true;
  }
  if (count_ == 0 && between_since_ != 0) between_ += clock_->now() - std::exchange(between_since_, 0);
  return any;
}

void HierarchyTrack::look_whether_over() {
  if (carries() && (count_ != 0 || begun_ != part_.end)) return;
  if (stage_ && !stage_->over()) return;
  under_way_ = false;
  room_.give_back();
}

void HierarchyTrack::fail(const Failure& failure, bool tells) {
  if (operations_ && (tells || operations_->active())) operations_->fail(failure);
  under_way_ = false;
  room_.give_back();
  count_ = 0;
}

}  // namespace nezha
