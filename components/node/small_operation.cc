// SPDX-License-Identifier: BSD-3-Clause
#include "node/small_operation.h"

#include <algorithm>
#include <string>

#include "node/copy.h"

namespace nezha {
namespace {

NodeCut cut_of(const NodeCall& call, std::uint32_t members) {
  return {call.bytes, call.reducer.element, std::max(call.bytes, call.reducer.element), members, call.carriers.size()};
}

}  // namespace

void SmallOperation::begin(const NodeCall& call) {
  call_ = call;
  ++operations_;
  seen_ = 0;
  results_ = 0;
  reduced_ = supplied_ = final_ = announced_ = false;
  part_ = {0, call.bytes};
  if (!alone()) {
    const std::size_t own = node_part(call.carriers, memory_.self());
    part_ = own < call.carriers.size() ? cut_of(call, memory_.members()).part(own) : NodeRange{};
  }
  announce();
}

bool SmallOperation::announce() {
  for (std::uint32_t member = 0; !met_ && member < memory_.members(); ++member)
    if (NodeMemory::load(memory_.small(member, operations_ - 1).flag) + 1 < operations_) return false;
  NodeSmallSlot& slot = memory_.small(memory_.self(), operations_);
  if (call_.folds() || call_.from == memory_.self()) contribute(slot);
  NodeMemory::put(slot.bytes, call_.bytes);
  NodeMemory::store(slot.flag, operations_);
  announced_ = true;
  reduced_ = call_.from == memory_.self() || call_.from == kNoMember;
  met_ = call_.folds() && call_.to == kEveryMember;  // when it is over
  if (!met_)
    memory_.wake();  // somebody may wait for this flag to announce the next one
  else if (memory_.anybody_sleeps())
    wake_if_last();
  note_done();
  return true;
}

void SmallOperation::contribute(NodeSmallSlot& slot) {
  const NodeRange own = call_.gathers() ? call_.block_of(memory_.self(), memory_.members()) : NodeRange{0, call_.bytes};
  copy_bytes(slot.data + own.begin, call_.send + own.begin, own.size());
}

/// Of members that take no result.
void SmallOperation::note_done() {
  if (call_.from == memory_.self()) final_ = true;
  if (call_.hands_out() || call_.goes_to(memory_.self())) return;
  final_ = (!folds_here() || reduced_) && (!supplies() || supplied_);
}

/// Only the member that writes the last vector wakes sleepers, because no member can go on before; it sees all other
/// flags.
void SmallOperation::wake_if_last() {
  for (std::uint32_t member = memory_.members(); member-- > 0;)
    if (NodeMemory::load(memory_.small(member, operations_).flag) < operations_) return;
  if (alone()) return memory_.wake();
  for (const std::uint32_t carrier : call_.carriers) memory_.wake(carrier);
}

bool SmallOperation::poll() {
  if (final_ || !trouble().ok()) return false;
  if (!announced_) return announce();
  if (call_.hands_out()) return take_from(call_.from);
  if (!reduced_ && folds_here()) {
    if (!all_contributed()) return false;
    call_.gathers() ? collect(part_) : fold(part_);
    reduced_ = true;
    if (alone()) final_ = true;
    note_done();
    return true;
  }
  return !alone() && call_.goes_to(memory_.self()) && take_results();
}

bool SmallOperation::take_from(std::uint32_t member) {
  NodeSmallSlot& slot = memory_.small(member, operations_);
  if (NodeMemory::load(slot.flag) < operations_ || !right_size(member, NodeMemory::peek(slot.bytes))) return false;
  copy_bytes(call_.recv, slot.data, call_.bytes);
  reduced_ = final_ = true;
  return true;
}

bool SmallOperation::all_contributed() {
  for (; seen_ < memory_.members(); ++seen_) {
    NodeSmallSlot& slot = memory_.small(seen_, operations_);
    if (NodeMemory::load(slot.flag) < operations_) return false;
    if (!right_size(seen_, NodeMemory::peek(slot.bytes))) return false;
  }
  return true;
}

bool SmallOperation::right_size(std::uint32_t member, std::uint64_t bytes) {
  if (bytes == call_.bytes) return true;
  fail(member, {Code::bad_peer, "it calls with a vector of " + std::to_string(bytes) + " bytes, this process with " +
                                    std::to_string(call_.bytes)});
  return false;
}

/// Right to left, x0 op (x1 op (... xn)): the kernels' operands stay in the order of members, and the sum may lie where
/// the right operand lay.
void SmallOperation::fold(const NodeRange& range) {
  const auto vector = [&](std::uint32_t member) { return memory_.small(member, operations_).data + range.begin; };
  const std::byte* sum = vector(memory_.members() - 1);
  std::byte* out = call_.recv + range.begin;
  for (std::uint32_t member = memory_.members() - 1; member-- > 0;) {
    call_.reducer.fold(vector(member), sum, out, range.size(), range.begin);
    sum = out;
  }
  if (sum != out) copy_bytes(out, sum, range.size());
}

void SmallOperation::collect(const NodeRange& range) {
  for (std::uint32_t member = 0; member < memory_.members(); ++member) {
    const NodeRange block = range.with(call_.block_of(member, memory_.members()));
    copy_bytes(call_.recv + block.begin, memory_.small(member, operations_).data + block.begin, block.size());
  }
}

void SmallOperation::supply(std::size_t up_to) {
  if (supplied_ || !reduced_ || !supplies() || up_to < part_.end) return;
  supplied_ = true;
  if (call_.to == memory_.self()) return;
  NodeSmallSlot& slot = memory_.result(memory_.self(), operations_);
  copy_bytes(slot.data, call_.recv + part_.begin, part_.size());
  NodeMemory::put(slot.bytes, call_.bytes);
  memory_.advance(slot.flag, operations_);
  note_done();
}

bool SmallOperation::take_results() {
  const NodeCut cut = cut_of(call_, memory_.members());
  bool moved = false;
  for (; results_ < call_.carriers.size(); ++results_) {
    const std::uint32_t carrier = call_.carriers[results_];
    const NodeRange part = cut.part(results_);
    if (part.size() == 0) continue;
    if (carrier == memory_.self()) {
      if (!supplied_) return moved;
      continue;
    }
    NodeSmallSlot& slot = memory_.result(carrier, operations_);
    if (NodeMemory::load(slot.flag) < operations_) return moved;
    if (!right_size(carrier, NodeMemory::peek(slot.bytes))) return moved;
    copy_bytes(call_.recv + part.begin, slot.data, part.size());
    moved = true;
  }
  final_ = true;
  return true;
}

bool SmallOperation::has_done(std::uint32_t member) {
  if (NodeMemory::load(memory_.small(member, operations_).flag) < operations_) return false;
  if (alone() || call_.hands_out() || !call_.goes_to(memory_.self())) return true;
  const std::size_t part = node_part(call_.carriers, member);
  if (part == call_.carriers.size() || cut_of(call_, memory_.members()).part(part).size() == 0) return true;
  return NodeMemory::load(memory_.result(member, operations_).flag) >= operations_;
}

}  // namespace nezha
