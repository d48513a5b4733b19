// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_trial.h"

#include <algorithm>
#include <cstring>

#include "util/random.h"

namespace nezha {

NodeTrial::NodeTrial(NodeMemory& memory, NodeAccess allowed, const NodeSystem& system)
    : memory_(memory), allowed_(allowed), system_(system) {}

Status NodeTrial::arrive() {
  std::uint64_t value = 0;
  Status status = random_id(value);
  if (!status.ok()) return status;
  probe_.fill(value);
  NodeTrialLine& line = memory_.member(memory_.self()).trial;
  NodeMemory::put(line.pid, static_cast<std::uint64_t>(system_.process()));
  NodeMemory::put(line.probe, reinterpret_cast<std::uintptr_t>(probe_.data()));
  NodeMemory::put(line.value, value);
  memory_.advance(line.arrived, 1);
  return {};
}

bool NodeTrial::poll() {
  const auto missing = [&](std::uint64_t NodeTrialLine::*word) {
    for (awaited_ = 0; awaited_ < memory_.members(); ++awaited_) {
      if (NodeMemory::load(memory_.member(awaited_).trial.*word) == 0) return true;
    }
    return false;
  };
  if (!tried_) {
    if (missing(&NodeTrialLine::arrived)) return false;
    const NodeVerdict verdict = try_all();
    memory_.advance(memory_.member(memory_.self()).trial.verdict, static_cast<std::uint64_t>(verdict));
    tried_ = true;
  }
  if (missing(&NodeTrialLine::verdict)) return false;
  access_ = NodeAccess::single_copy;
  for (std::uint32_t member = 0; member < memory_.members(); ++member) {
    if (NodeMemory::load(memory_.member(member).trial.verdict) == static_cast<std::uint64_t>(NodeVerdict::can))
      continue;
    access_ = NodeAccess::copies;
    if (why_.empty()) why_ = "local member " + std::to_string(member) + " cannot read the memory of all others";
  }
  return true;
}

NodeVerdict NodeTrial::try_all() {
  if (allowed_ == NodeAccess::copies) {
    why_ = "this process is told to copy through shared memory";
    return NodeVerdict::cannot;
  }
  for (std::uint32_t member = 0; member < memory_.members(); ++member) {
    if (!try_one(member)) return NodeVerdict::cannot;
  }
  return NodeVerdict::can;
}

/// In another namespace of processes the pid may be that of somebody else: the value tells.
bool NodeTrial::try_one(std::uint32_t member) {
  NodeTrialLine& line = memory_.member(member).trial;
  std::array<std::uint64_t, 8> got{};
  const auto pid = NodeMemory::peek(line.pid);
  const int error = system_.read(static_cast<pid_t>(pid), NodeMemory::peek(line.probe),
                                 reinterpret_cast<std::byte*>(got.data()), sizeof(got));
  const std::uint64_t value = NodeMemory::peek(line.value);
  if (error == 0 && std::all_of(got.begin(), got.end(), [&](std::uint64_t word) { return word == value; })) return true;
  why_ = "process " + std::to_string(pid) + " cannot be read by process_vm_readv: " +
         (error == 0 ? std::string("it is another one in this namespace of processes") : std::strerror(error));
  return false;
}

}  // namespace nezha
