// SPDX-License-Identifier: BSD-3-Clause
/// The part of the core that follows rails which move or appear while the job runs: this process's own, of which peers are
/// told over the lanes that are left, and theirs. Lanes are only ever added; what no rail fits any more stays down.
#include <algorithm>

#include "engine/core.h"
#include "engine/memory.h"
#include "util/pci_device.h"

namespace nezha {
namespace {

/// Each rail with one or two of the other side's, and what a few moves add.
constexpr std::size_t kMostWires = 4 * kMaxRails;
/// With more peers than this so many would answer a rail that is back, by broadcasts, that it may rather wait a second.
constexpr std::size_t kMostAnswers = 64;

}  // namespace

Core::Place Core::place_of(std::uint8_t rail) const {
  return rail == kLoopbackRail ? Place{loopback_, kLoopbackRail} : places_[rail];
}

/// In the words of its transport, which this process may not have.
std::string Core::where(const RailAddress& address) const {
  for (std::size_t i = 0; i < rails(); ++i)
    if (self_.rails[i].transport == address.transport) return places_[i].transport->where(address);
  return "a place of another kind";
}

std::string Core::pci_device(std::size_t rail) const {
  std::string told = places_[rail].transport->pci_device(places_[rail].rail);
  return told.empty() ? pci_device_of(self_.rails[rail].name) : told;
}

void Core::add_wire(Peer& peer, RailPair rails, bool spare, bool expected_up) {
  const bool there = peer.trunk->knows_lane(rails.local, rails.remote);
  if (there || peer.wires.size() == kMostWires) return;
  Wire& wire = peer.wires.emplace_back();
  wire.rails = rails;
  wire.spare = spare;
  wire.label = self_.at(rails.local).label() + " - " + peer.address.at(rails.remote).label();
  wire.expected_up = expected_up;
  wire.moved = rails.local != kLoopbackRail && moved_[rails.local];
  peer.trunk->add_lane(rails.local, rails.remote, load_of(rails.local));
}

std::vector<RailPair> Core::pairs_with(const Peer& peer) const {
  std::vector<RailPair> pairs = pair_rails(self_.rails, peer.address.rails);
  if (peer.same_node && share_loopback(self_.loopback, peer.address.loopback))
    pairs.insert(pairs.begin(), {kLoopbackRail, kLoopbackRail});
  return pairs;
}

/// Makes wires of the pairs that there are none for.
void Core::wire_up(Peer& peer, bool expected_up) {
  const std::vector<RailPair> pairs = pairs_with(peer);
  const bool loopback = !pairs.empty() && pairs.front().local == kLoopbackRail;
  for (const RailPair pair : pairs) {
    const bool first = pair.local == kLoopbackRail;
    add_wire(peer, pair, loopback && !first, expected_up && !first);
  }
  most_lanes_ = std::max(most_lanes_, loopback ? std::size_t{1} : peer.wires.size());
  for (const auto& transport : transports_) transport->bound_lanes(lane_memory(open_.size(), most_lanes_));
}

void Core::ending() {
  wiring_.ending();
  for (const auto& transport : transports_) transport->ending();
}

void Core::part() {
  for (const auto& transport : transports_) transport->part();
}

bool Core::parted() const {
  return std::all_of(transports_.begin(), transports_.end(), [](const auto& each) { return each->parted(); });
}

void Core::rail_back(std::uint8_t local_rail, const RailAddress& address) {
  const bool moved = self_.rails[local_rail] != address;
  if (moved)
    rail_moved(local_rail, address);
  else
    tell_back(local_rail);
  announce(local_rail);
  wiring_.rail_back(local_rail, clock_.now());
}

/// Peers cannot see that it is back: the link was lost at this end only. Those of lower rank connect to it, and all announce
/// theirs, for which this node may have asked in vain.
void Core::tell_back(std::uint8_t local_rail) {
  for (const Peer* peer : open_)
    if (peer->trunk->lanes_up() != 0) peer->trunk->tell_rail({local_rail, self_.rails[local_rail]});
}

/// One process of a node is enough: the others have the same address.
void Core::announce(std::uint8_t local_rail) {
  const Place& place = places_[local_rail];
  if (!place.transport->may_announce(place.rail)) return;
  std::vector<const RailAddress*> taken;
  for (const auto& [id, peer] : peers_) {
    if (peer->same_node && peer->address.job_rank < self_.job_rank) return;
    for (const RailAddress& rail : peer->address.rails) taken.push_back(&rail);
  }
  place.transport->announce(place.rail, taken);
}

std::optional<std::uint8_t> Core::rail_added(Transport& transport, const RailAddress& address) {
  if (rails() == kMaxRails) return {};
  const auto local_rail = static_cast<std::uint8_t>(rails());
  add_rail(transport, address);
  rail_moved(local_rail, address);
  wiring_.rail_back(local_rail, clock_.now());
  log_.line(1, "rail %s is new, at %s", address.label().c_str(), where(address).c_str());
  return local_rail;
}

void Core::rail_moved(std::uint8_t local_rail, const RailAddress& address) {
  self_.rails[local_rail] = address;
  moved_.set(local_rail);
  for (Peer* peer : open_) {
    for (Wire& wire : peer->wires) wire.moved = wire.moved || wire.rails.local == local_rail;
    wire_up(*peer, true);
    peer->untold.set(local_rail);
    tell_rails(*peer);
  }
}

/// A trunk without lanes would keep what it is told: the last address is enough.
void Core::tell_rails(Peer& peer) {
  if (peer.trunk->lanes_up() == 0) return;
  for (std::size_t rail = 0; peer.untold.any() && rail < rails(); ++rail)
    if (peer.untold[rail]) peer.trunk->tell_rail({static_cast<std::uint8_t>(rail), self_.rails[rail]});
  peer.untold.reset();
}

/// The trunk is in the middle of a frame: it cannot be given lanes now.
void Core::peer_rail(Trunk& trunk, const RailNotice& notice) { news_.emplace_back(peers_.at(trunk.peer()).get(), notice); }

void Core::take_news() {
  const bool answers = open_.size() <= kMostAnswers;
  for (const auto& [peer, notice] : news_) {
    std::vector<RailAddress>& rails = peer->address.rails;
    if (notice.rail >= rails.size()) rails.resize(notice.rail + 1U);
    RailAddress& rail = rails[notice.rail];
    if (!rail.transport.empty() && rail.transport != notice.address.transport) continue;  // its wires would lead elsewhere
    const bool moved = rail != notice.address;
    rail = notice.address;
    if (moved) log_.line(1, "%s has rail %s at %s now", peer->label().c_str(), rail.label().c_str(), where(rail).c_str());
    wire_up(*peer, true);
    for (const Wire& wire : peer->wires)
      if (answers && wire.rails.remote == notice.rail) announce(wire.rails.local);
    wiring_.peer_rail_back(*peer, notice.rail, clock_.now());
  }
  news_.clear();
}

}  // namespace nezha
