// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_stage.h"

#include <algorithm>
#include <string>

namespace nezha {

NodeStage::NodeStage(NodeMemory& memory, const NodeStageOptions& options)
    : memory_(memory), options_(options), small_(memory), chunked_(memory, options.single_copy_chunk, options.clock, *options.system) {}

void NodeStage::begin(const NodeCall& call) {
  call_ = call;
  idle_ = 0;
  part_ = {};
  operation_ = nullptr;
  if (call.bytes == 0 || !failed_.ok()) return;
  const std::size_t own = node_part(call.carriers, memory_.self());
  if (own < call.carriers.size()) {
    part_ = NodeCut(call.bytes, call.reducer.element, call.bytes, memory_.members(), call.carriers.size()).part(own);
  }
  if (call.bytes <= SmallOperation::small_limit(call, memory_.members())) {
    ++begun_.small;
    operation_ = &small_;
  } else {
    ++begun_.chunked;
    operation_ = &chunked_;
    chunked_.set_access(call.bytes < options_.single_copy_from ? NodeAccess::copies : options_.access);
  }
  operation_->begin(call);
}

bool NodeStage::poll() {
  if (operation_ == nullptr || !failed_.ok()) return false;
  if (operation_->poll()) {
    idle_ = 0;
    return true;
  }
  look_for_trouble();
  return false;
}

void NodeStage::supply(std::size_t up_to) {
  if (operation_ != nullptr && part_.size() != 0 && !call_.hands_out()) operation_->supply(up_to);
}

void NodeStage::look_for_trouble() {
  constexpr unsigned kLookAtCalls = 64;
  const Status& trouble = operation_->trouble();
  if (trouble.code() == Code::closed) return fail_without(operation_->troubled_by());
  if (!trouble.ok()) return fail(operation_->troubled_by(), trouble);
  if (memory_.anybody_gone()) look_for_gone();
  if (++idle_ % kLookAtCalls != 0) return;
  for (std::uint32_t member = 0; member < memory_.members() && failed_.ok(); ++member) {
    if (!calls_differently(member)) continue;
    fail(member, {Code::bad_peer, "it calls with a vector of another size than the " + std::to_string(call_.bytes) +
                                      " bytes of this process"});
  }
}

void NodeStage::look_for_gone() {
  for (std::uint32_t member = 0; member < memory_.members(); ++member) {
    const NodeEnd end = memory_.gone(member);
    // Without the process that made the memory nobody may hear that another one ends (segment.h).
    const bool may_hide_others = member == 0 && end == NodeEnd::died;
    if (may_hide_others || (end != NodeEnd::none && !operation_->has_done(member))) return fail_without(member);
  }
}

/// Names the member at fault: one that died before one that gave up because of it, and the member that another gave up
/// for before the one that gave up.
void NodeStage::fail_without(std::uint32_t missed) {
  std::uint32_t named = 0;
  while (named < memory_.members() && memory_.gone(named) != NodeEnd::died) ++named;
  if (named == memory_.members()) named = missed;
  const std::uint32_t blamed = memory_.gone(named) == NodeEnd::gave_up ? memory_.blamed(named) : named;
  const char* const by = blamed < memory_.members() ? "another rank of its node" : "a rank of this node";
  if (blamed != named) return fail(blamed, {Code::closed, std::string(by) + " has given up because of it"});
  fail(named, {Code::closed, text_of(memory_.gone(named))});
}

bool NodeStage::calls_differently(std::uint32_t member) const {
  const auto small = [&] {
    return std::max(NodeMemory::load(memory_.small(member, 0).flag), NodeMemory::load(memory_.small(member, 1).flag));
  };
  return began_another_kind(begun_, small, [&] { return NodeMemory::load(memory_.lines(member).call.begun); });
}

void NodeStage::fail(std::uint32_t member, Status why) {
  failed_ = std::move(why);
  failed_member_ = member;
  memory_.give_up(member);
}

}  // namespace nezha
