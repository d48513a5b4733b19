// SPDX-License-Identifier: BSD-3-Clause
#include "engine/hierarchy_track.h"

#include <algorithm>
#include <utility>

namespace nezha {

HierarchyTrack::HierarchyTrack(TeamId id, const TeamView* between, const Clock* clock) : id_(id), clock_(clock) {
  if (between == nullptr) return;
  operations_.emplace(*between, 0);
  operations_->set_team(id_);
}

void HierarchyTrack::share(const NodeMemory& memory, const NodeStageOptions& options) {
  memory_.emplace(memory);
  stage_.emplace(*memory_, options);
}

OpNumber HierarchyTrack::begin(const Call& call, AlgorithmChoice choice, std::span<const std::uint32_t> carriers,
                               std::size_t segment) {
  call_ = call;
  choice_ = choice;
  segment_bytes_ = segment;
  if (stage_) {
    stage_->begin({call.send, call.recv, call.bytes(), call.reducer, carriers});
    part_ = stage_->part();
  } else {
    part_ = {0, call.bytes()};
  }
  begun_ = part_.begin;
  under_way_ = true;
  return ++begun_calls_;
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

bool HierarchyTrack::begin_segments() {
  const std::size_t before = begun_;
  while (begun_ < part_.end && operations_->room() && count_ < sent_.size()) {
    const std::size_t end = std::min(begun_ + segment_bytes_, part_.end);
    if (ready() < end) break;
    Call segment = call_;
    segment.send = (stage_ ? call_.recv : call_.send) + begun_;
    segment.recv = call_.recv + begun_;
    segment.count = (end - begun_) / call_.element;
    segment.whole = call_.bytes();
    segment.reducer.begin = call_.reducer.begin + begun_;
    sent_[(first_ + count_++) % sent_.size()] = {operations_->start(segment, choice_), end};
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
  if (!stage_ || stage_->over()) under_way_ = false;
}

void HierarchyTrack::fail(const Failure& failure, bool tells) {
  if (operations_ && (tells || operations_->active())) operations_->fail(failure);
  under_way_ = false;
  count_ = 0;
}

}  // namespace nezha
