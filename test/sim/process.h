// SPDX-License-Identifier: BSD-3-Clause
/// One simulated process: a core, and what the engine's threads would do with it: callers that drive while they wait,
/// and a service that looks in now and then.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "caller.h"
#include "engine/core.h"
#include "node_system.h"
#include "rail/sim/queue_kind.h"
#include "rail/sim/transport.h"
#include "waker.h"

namespace nezha::test {

class World;

/// A clock of its own: it runs like the network's time, from another origin, and may jump ahead.
class ProcessClock final : public Clock {
 public:
  ProcessClock(const SimNetwork& network, Nanoseconds ahead) : network_(network), ahead_(ahead) {}
  Nanoseconds now() const override { return network_.now() + ahead_; }
  void jump(Nanoseconds by) { ahead_ += by; }

 private:
  const SimNetwork& network_;
  Nanoseconds ahead_;
};

class Process {
 public:
  Process(World& world, int rank);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Makes all others known, and begins.
  void begin();
  int rank() const { return rank_; }
  ProcessId id() const { return static_cast<ProcessId>(rank_) + 1; }
  /// False from kill() or stop() on.
  bool alive() const { return core_ != nullptr && !stopped_; }
  /// False from kill() on: then it has neither core nor transport.
  bool exists() const { return core_ != nullptr; }
  Core& core() { return *core_; }
  SimTransport& transport() { return *transport_; }
  /// Its RDMA rails; null = it has none.
  SimQueueKind* queues() { return queues_; }
  const Clock& clock() const { return clock_; }
  const std::vector<std::unique_ptr<Caller>>& callers() const { return callers_; }

  /// Has it look at its rails and callers soon.
  void wake();
  /// It does nothing until then, in the network's time.
  void pause(Nanoseconds until) { paused_until_ = until; }
  void jump(Nanoseconds by);
  void kill();
  /// It does nothing any more, but is there, and its kernel goes on.
  void stop() { stopped_ = true; }
  /// An operation of it began or ended.
  void operation_begins() { ++operations_; }
  void operation_ends();
  /// The program is over: from here on it reads whatever comes, as in MPI_Finalize before the fence.
  void end();
  /// Nothing of it is unacknowledged, and it owes nothing, to those that live.
  bool quiet() const;
  /// Everything is up again that was ever up.
  bool whole() const { return missing().empty(); }
  /// The first lane that is not, for people; else empty.
  std::string missing() const;

  Team* team(std::size_t index) const { return teams_[index]; }
  Team* create_team(std::size_t index);
  void destroy_team(std::size_t index);

 private:
  void add_rails();
  void look();
  void tick();
  void share();
  void greet(std::size_t aggregator);
  bool wants(int rank) const;
  bool needed(const Peer* peer) const;
  bool has(const Wire& wire, const Peer& peer) const;
  bool for_rdma(const Wire& wire) const;

  World& world_;
  const int rank_;
  ProcessClock clock_;
  SimNodeSystem system_;
  std::unique_ptr<Core> core_;
  SimTransport* transport_ = nullptr;  ///< the core's
  SimQueueKind* queues_ = nullptr;     ///< the same
  std::vector<std::unique_ptr<Caller>> callers_;
  std::vector<Team*> teams_;  ///< by index in the program
  std::vector<Peer*> peers_;  ///< by rank; the own: null
  std::vector<Peer*> aggregators_;    ///< by place in the parameter; null: not greeted
  std::vector<Nanoseconds> greet_at_;  ///< or when it counts as lost; in the network's time

  unsigned operations_ = 0;
  bool ticking_ = true;       ///< as in the engine: the service looks in every 10 ms
  bool called_ = false;
  bool stopped_ = false;
  bool ending_ = false;
  Nanoseconds next_tick_ = 0;
  Nanoseconds stepped_ = 0;   ///< while it climbs
  Nanoseconds due_ = 0;       ///< when the core wants to be stepped; 0 = never
  Nanoseconds idle_ = 0;      ///< how long until it looks again while a caller waits
  Nanoseconds idle_since_ = 0;
  Nanoseconds paused_until_ = 0;
  Waker waker_;
};

}  // namespace nezha::test
