// SPDX-License-Identifier: BSD-3-Clause
#include "engine/operation_carrier.h"

#include <algorithm>
#include <utility>

namespace nezha {

void OperationCarrier::begin(const Call& call, AlgorithmChoice choice, const Range& range, std::size_t segment) {
  call_ = call;
  choice_ = choice;
  range_ = range;
  segment_ = segment;
  ready_ = begun_ = final_ = range.begin;
}

bool OperationCarrier::poll() {
  const bool ended = end_segments();
  return begin_segments() || ended;
}

Call OperationCarrier::part_of_call(std::size_t begin, std::size_t end) {
  Call part = part_of(call_, begin, end);
  part.whole = call_.bytes();
  if (has_blocks(call_.collective)) set_blocks(part, begin);
  return part;
}

void OperationCarrier::set_blocks(Call& part, std::size_t begin) {
  const TeamView& view = operations_.view();
  const auto nodes = static_cast<std::size_t>(view.size);
  counts_.assign(nodes, part.count / nodes);
  part.counts = counts_.data();
  if (call_.collective == Collective::allgather)
    part.send = part.recv + static_cast<std::size_t>(view.position) * counts_[0] * call_.element;
  else
    part.recv = call_.recv + (begin - range_.begin) / nodes;
}

bool OperationCarrier::begin_segments() {
  const std::size_t before = begun_;
  while (begun_ < range_.end && operations_.room() && count_ < under_way_.size()) {
    const std::size_t end = std::min(begun_ + segment_, range_.end);
    if (ready_ < end) break;
    under_way_[(first_ + count_++) % under_way_.size()] = {operations_.start(part_of_call(begun_, end), choice_), end};
    begun_ = end;
  }
  if (begun_ != before && since_ == 0 && clock_ != nullptr) since_ = clock_->now();
  return begun_ != before;
}

bool OperationCarrier::end_segments() {
  const std::size_t before = final_;
  for (; count_ != 0 && operations_.finished(under_way_[first_].number);
       first_ = (first_ + 1) % under_way_.size(), --count_)
    final_ = under_way_[first_].end;
  if (count_ == 0 && since_ != 0) took_ += clock_->now() - std::exchange(since_, 0);
  return final_ != before;
}

}  // namespace nezha
