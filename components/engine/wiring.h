// SPDX-License-Identifier: BSD-3-Clause
/// Brings up the lanes that teams need, in the background, and brings them back when they are lost. The lower rank of
/// a pair connects, the other waits; where its own rail has moved and no lane is left to say so, it connects too.
///
/// Beside a lane that is suspect either side tries another connection: when its network is back, that comes up before the
/// kernel sends again what was lost, for which it waits ever longer. The trial closes nothing; once it is through, and only
/// if the suspect is silent still (Admission::wants), it takes its place.
///
/// A rail over which an aggregator answers and no rank does may be a network of the aggregator's own: lanes to ranks over it are
/// not waited for long.
///
/// Spare lanes are connected only while the last try for the one over the node's loopback has failed.
///
/// Guarded by the engine's lock; time comes with the calls.
#pragma once

#include <bitset>
#include <functional>
#include <string>
#include <vector>

#include "engine/lane_watcher.h"
#include "engine/notices.h"
#include "engine/peer.h"
#include "util/log.h"

namespace nezha {

class Wiring {
 public:
  /// Starts to connect one lane; the outcome comes back through lane_up or lane_failed.
  using Connect = std::function<void(const Peer&, const Wire&, Nanoseconds deadline)>;

  Wiring(ProcessId self, Nanoseconds patience, Connect connect, const Log& log, Notices& notices)
      : self_(self), patience_(patience), connect_(std::move(connect)), log_(log), notices_(notices) {}

  /// Null: nobody. Outlives this, or is taken back.
  void tell(LaneWatcher* watcher) { watcher_ = watcher; }
  /// Peers may be gone soon, and their lanes with them: that is to be expected.
  void ending() { ending_ = true; }
  /// A team needs this peer: its lanes come up from now on.
  void want(Peer& peer, Nanoseconds now);
  /// It is about to go.
  void forget(Peer& peer) { std::erase(wanted_, &peer); }
  /// The peer is known to want them too: from now on it counts how long one does not come up. False: that was known.
  bool wanted_by(Peer& peer, Nanoseconds now);
  /// An operation begins: lanes are wanted, those that are down too.
  void used(Nanoseconds now);
  /// Does what is due. The next time that something will be is next_due().
  void step(Nanoseconds now);
  Nanoseconds next_due() const { return next_due_; }  ///< 0 = nothing

  /// That rail can be used again, maybe at another address: its lanes are tried soon.
  void rail_back(std::uint8_t local_rail, Nanoseconds now);
  /// A rail of the peer has another address.
  void peer_rail_back(Peer& peer, std::uint8_t remote_rail, Nanoseconds now);
  void lane_up(Peer& peer, RailPair rails, Nanoseconds now);
  /// `attempt`: which one has failed. The peer may have come back with other rails since, or the lane by another attempt.
  void lane_failed(Peer& peer, RailPair rails, std::uint64_t attempt, const Status& why, Nanoseconds now);
  /// A lane does not answer, or does again.
  void lane_suspected(Peer& peer, RailPair rails, Nanoseconds silent, Nanoseconds now);
  void lane_forgiven(Peer& peer, RailPair rails);
  void lane_lost(Peer& peer, RailPair rails, const Status& why, Nanoseconds now);

 private:
  void try_again(const Peer& peer, Wire& wire, Wire::State state, Nanoseconds now);
  void try_soon(Wire& wire, Nanoseconds now);
  void try_others(std::uint8_t local_rail, Nanoseconds now);
  static Wire* wire_of(Peer& peer, RailPair rails);
  void step_peer(Peer& peer, Nanoseconds now);
  void step_wire(Peer& peer, Wire& wire, Nanoseconds now);
  bool is_aggregators_own(std::uint8_t local_rail) const;
  Nanoseconds waits_until(const Peer& peer) const;
  void note_answer(const Peer& peer, std::uint8_t local_rail, Nanoseconds now);
  void settle(Peer& peer);
  void due(Nanoseconds when);
  void watched(const char* event, const Peer& peer, const Wire& wire, const std::string& why) const;

  const ProcessId self_;
  const Nanoseconds patience_;  ///< how long a lane that never came up is waited for
  Connect connect_;
  const Log& log_;
  Notices& notices_;
  LaneWatcher* watcher_ = nullptr;
  std::vector<Peer*> wanted_;
  std::bitset<kMaxRails> over_ranks_, over_aggregators_;  ///< local rails over which a lane to one has been up
  std::uint64_t attempts_ = 0;
  bool ending_ = false;
  Nanoseconds next_due_ = 0;
  Nanoseconds used_ = 0;  ///< when the latest operation began
};

}  // namespace nezha
