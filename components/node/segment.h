// SPDX-License-Identifier: BSD-3-Clause
/// The shared memory of one team on one node, from being made to being left: member 0 makes it and hands it to the
/// others (node_acceptor.h), all agree how they read each other's vectors (node_trial.h), and connections between
/// member 0 and each other one tell whose process has ended.
///
///   joining --all have it and agree--> ready          joining --a reason: why()--> absent
///
/// Nothing blocks. Not thread-safe, but another thread may use NodeStage meanwhile. Deadlines are on the clock of
/// progress(). At the deadline one member may be ready and another absent: whether the team uses the memory is for the
/// team to agree.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "node/node_acceptor.h"
#include "node/node_connector.h"
#include "node/node_memory.h"
#include "node/node_system.h"
#include "node/node_trial.h"
#include "node/shared_memory.h"

namespace nezha {

/// Alike on all members but for `self`, `allowed` and `system`.
struct SegmentSpec {
  std::uint64_t team = 0;
  std::uint32_t members = 0, self = 0;
  std::size_t chunk = 0;  ///< NodeLayout
  NodeAccess allowed = NodeAccess::single_copy;
  Nanoseconds deadline = 0;  ///< all have it by then, or nobody
  const NodeSystem* system = &NodeSystem::real();  ///< outlives the segment
};

class Segment {
 public:
  enum class State { joining, ready, absent };

  /// By member 0. `acceptor` outlives this; its progress() is the caller's to call.
  Segment(const SegmentSpec& spec, NodeAcceptor& acceptor, NodeAcceptor::SecretOf secret_of);
  /// By the others. `maker`: the name of member 0's acceptor; `secret`: what this process shares with member 0.
  Segment(const SegmentSpec& spec, const NodeName& maker, const Secret& secret);
  /// Leaves: a member that still needs something of this one fails.
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// Now and then: goes on with joining, and from then on looks whose process has ended; NodeStage::failed() tells of
  /// it.
  State progress(Nanoseconds now);

  State state() const { return state_; }
  /// To processes of other members, which take a descriptor each.
  std::size_t connections() const;
  /// Absent: why there is no shared memory.
  const Status& why() const { return why_; }
  /// Ready: what to give to NodeStage, and how vectors are read.
  NodeMemory& memory() { return *memory_; }
  NodeAccess access() const { return trial_->access(); }
  /// Why access() is no better; empty for single copy.
  const std::string& why_copies() const { return trial_->why(); }

 private:
  Status make(NodeAcceptor::SecretOf secret_of);
  Status enter(const Fd& descriptor);
  void join(Nanoseconds now);
  void agree(Nanoseconds now);
  void admit();
  void look_at_connections();
  void look_at_memories(Nanoseconds now);
  void give_up(Status why);

  static constexpr Nanoseconds kLookAtMemories = 100 * kMillisecond;

  const SegmentSpec spec_;
  const pid_t process_ = spec_.system->process();
  const NodeLayout layout_;
  NodeAcceptor* acceptor_ = nullptr;  ///< of member 0, as long as it offers
  std::optional<NodeConnector> connector_;
  Fd descriptor_;
  SharedMemory shared_;
  std::optional<NodeMemory> memory_;
  std::optional<NodeTrial> trial_;
  std::vector<Fd> connections_;  ///< by member; member 0 has one to each, the others to member 0 only
  Nanoseconds next_look_at_memories_ = 0;
  State state_ = State::joining;
  Status why_;
};

}  // namespace nezha
