// SPDX-License-Identifier: BSD-3-Clause
/// What comes to a process by its lanes, and what it answers: pieces for operations, news of peers, requests for lanes.
#include <algorithm>
#include <new>

#include "engine/core.h"
#include "engine/sampling.h"

namespace nezha {
namespace {

RailPair rails_of(const LaneSpec& spec) { return {spec.local_rail, spec.remote_rail}; }

}  // namespace

Placement Core::place(Trunk& trunk, const PieceHeader& piece) {
  if (piece.team == kNobody) return {PlaceKind::bin};
  Team* team = team_of(piece.team);
  if (team == nullptr) return guests_ != nullptr ? guests_->place(trunk, piece) : Placement{PlaceKind::early};
  const Placement place = team->place(trunk, piece);
  if (place.kind != PlaceKind::bad || !team->has(trunk)) return place;
  team->differs(trunk, piece);
  doubts_ = true;
  return {PlaceKind::bin};
}

void Core::arriving(Trunk& trunk, const PieceHeader& piece) {
  if (Team* team = team_of(piece.team))
    team->arriving(trunk, piece);
  else if (guests_ != nullptr)
    guests_->arriving(trunk, piece);
}

/// The lane is in the middle of a frame: no exception of an algorithm or of the host may pass it, and the team fails
/// later. Without memory nothing can be told to anybody, and the process ends.
bool Core::arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) {
  Team* team = team_of(piece.team);
  if (team == nullptr) return guests_ == nullptr || guests_->arrived(trunk, piece, data);
  try {
    if (team->arrived(trunk, piece, data)) return true;
    if (!team->has(trunk)) return false;
    team->differs(trunk, piece);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    team->broke(std::current_exception());
  }
  doubts_ = true;
  return true;
}

bool Core::has_begun(TeamId id, OpNumber op) {
  const Team* team = team_of(id);
  if (team == nullptr) return guests_ != nullptr && guests_->has_begun(id, op);
  return team->has_begun(id, op);
}

void Core::peer_at(Trunk& trunk, TeamId id, OpNumber begun, OpNumber ended) {
  if (Team* team = team_of(id))
    team->peer_at(trunk, id, begun, ended);
  else if (guests_ != nullptr)
    guests_->peer_at(trunk, id, begun, ended);
}

void Core::lane_suspected(Trunk& trunk, const Lane& lane, Nanoseconds silent) {
  wiring_.lane_suspected(*peers_.at(trunk.peer()), rails_of(lane.spec()), silent, clock_.now());
}

void Core::lane_forgiven(Trunk& trunk, const Lane& lane) {
  wiring_.lane_forgiven(*peers_.at(trunk.peer()), rails_of(lane.spec()));
}

void Core::lane_lost(Trunk& trunk, Lane& lane, const Status& why) {
  dead_.emplace_back(&lane, place_of(lane.spec().local_rail).transport);
  Peer& peer = *peers_.at(trunk.peer());
  wiring_.lane_lost(peer, rails_of(lane.spec()), why, clock_.now());
  lanes_changed(peer, true);
}

const Secret* Core::secret(ProcessId id) const {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : &found->second->secret;
}

bool Core::expects(const LaneSpec& spec) const {
  const auto found = peers_.find(spec.peer);
  if (found == peers_.end() || (wanted_only_ && !found->second->wanted)) return false;
  const Peer& peer = *found->second;
  if (peer.trunk) return peer.trunk->knows_lane(spec.local_rail, spec.remote_rail);
  const std::vector<RailPair> pairs = pairs_with(peer);
  return std::find(pairs.begin(), pairs.end(), rails_of(spec)) != pairs.end();
}

bool Core::wants(const LaneSpec& spec) const {
  const auto found = peers_.find(spec.peer);
  return found != peers_.end() && found->second->trunk->wants_lane(spec.local_rail, spec.remote_rail);
}

LaneEvents& Core::lane_up(Lane& lane) {
  Peer& peer = *peers_.at(lane.spec().peer);  // secret() knew it when this connection was admitted, in the same call
  open(peer);
  peer.trunk->lane_up(lane);
  wiring_.lane_up(peer, rails_of(lane.spec()), clock_.now());
  lanes_changed(peer, false);
  tell_rails(peer);
  return *peer.trunk;
}

void Core::lane_failed(const LaneSpec& spec, const Status& why) {
  const auto found = peers_.find(spec.peer);
  if (found == peers_.end()) return;  // it was removed meanwhile
  Peer& peer = *found->second;
  load_of(spec.local_rail).lanes_failed += 1;
  wiring_.lane_failed(peer, rails_of(spec), spec.attempt, why, clock_.now());
}

void Core::connect(const Peer& peer, const Wire& wire, Nanoseconds deadline) {
  const LaneSpec spec{peer.address.id, wire.rails.local, wire.rails.remote, peer.same_node, 0, wire.attempt};
  const Place place = place_of(wire.rails.local);
  place.transport->connect(spec, place.rail, peer.address.at(wire.rails.remote), deadline);
}

}  // namespace nezha
