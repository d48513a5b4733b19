// SPDX-License-Identifier: BSD-3-Clause
/// Another process of the job, and the state of the wiring to it. Owned by the core, guarded by the engine's lock.
#pragma once

#include <algorithm>
#include <bitset>
#include <memory>
#include <string>
#include <vector>

#include "engine/address.h"
#include "rail/pairing.h"
#include "trunk/trunk.h"

namespace nezha {

/// One lane to be.
struct Wire {
  enum class State {
    idle,
    connecting,
    up,
    suspect,   ///< up, but silent: another connection is tried beside it
    probing,  ///< a suspect, beside which one is being tried
  };

  RailPair rails;
  bool spare = false;  ///< connected only while the loopback, which the pair has too, does not come up
  std::string label;  ///< "tcp/eth0 - tcp/eth0": this side's rail first
  State state = State::idle;
  bool was_up = false;
  bool expected_up = false;  ///< it was up, or one of its rails appeared or moved since the start: worth many tries
  bool moved = false;      ///< this side's rail is not where it was at the start; the peer may not know where it is
  Nanoseconds up_since = 0;
  unsigned tries = 0;  ///< since it was last up for a while
  std::uint64_t attempt = 0;  ///< the latest one, of all to all peers
  Nanoseconds next_try = 0;
  Status lost_for;    ///< why it was lost; ok: it is up, or never was
  Status last_error;  ///< why it has not come up since, or a suspect's successor has not

  /// It has a lane.
  bool there() const { return state == State::up || state == State::suspect || state == State::probing; }
  /// Why it is of no use, as far as is known: what it was lost for comes first, whatever tries to bring it back found later.
  std::string trouble() const {
    const bool said = last_error.text().find(lost_for.text()) != std::string::npos;
    return said ? last_error.text() : lost_for.text() + (last_error.ok() ? "" : ", then " + last_error.text());
  }
};

/// A short sample of the lanes to a peer, so that first shares are measured ones.
enum class Sample { none, running, leaving, done };

struct Peer {
  Address address;
  Secret secret{};
  bool same_node = false;  ///< on this node, and in this network namespace as far as is known
  bool connects = false;  ///< this process has the lower rank and connects; else it waits to be connected to
  std::vector<Wire> wires;  ///< the loopback's first, if there is one
  std::unique_ptr<Trunk> trunk;  ///< from when it is first needed, here or there; null before, and then there are no wires
  std::bitset<kMaxRails> untold;  ///< rails of this process that have moved, which the peer is still to be told
  bool wanted = false;             ///< some team needs it
  Nanoseconds wiring_deadline = 0; ///< until when wires that are not up are waited for; 0 = it may not want them yet
  bool settled = false;            ///< every wire is up, or has been waited for long enough
  Sample sample = Sample::none;
  Flow sample_flow;
  std::size_t sample_chunks = 0;   ///< that were put into it
  Nanoseconds sample_began = 0;

  /// The last try for the lane over the node's loopback came to nothing: spare ones are needed. Connecting side.
  bool loopback_fails() const {
    const Wire* first = wires.empty() ? nullptr : &wires.front();
    return first != nullptr && first->rails.local == kLoopbackRail && !first->there() && !first->last_error.ok();
  }
  bool needs(const Wire& wire) const { return !wire.spare || loopback_fails(); }
  /// Every wire has its lane, or every one that is not spare, or every spare one.
  bool wired() const {
    const auto there = [this](bool spare) {
      return std::all_of(wires.begin(), wires.end(),
                         [spare](const Wire& wire) { return wire.spare != spare || wire.there(); });
    };
    const bool spares = std::any_of(wires.begin(), wires.end(), [](const Wire& wire) { return wire.spare; });
    return there(false) || (spares && there(true));
  }
  /// It has, or had, a lane.
  bool was_up() const { return std::any_of(wires.begin(), wires.end(), [](const Wire& wire) { return wire.was_up; }); }
  /// A lane was lost and is not back.
  bool lacks_lane() const {
    return std::any_of(wires.begin(), wires.end(), [](const Wire& wire) { return !wire.lost_for.ok(); });
  }
  bool is_aggregator() const { return address.job_rank == kNoRank; }
  std::string label() const {
    if (is_aggregator()) return "the aggregator on " + address.node;
    return "rank " + std::to_string(address.job_rank) + " on " + address.node;
  }
};

}  // namespace nezha
