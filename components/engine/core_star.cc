// SPDX-License-Identifier: BSD-3-Clause
/// The part of the core that is about aggregators: processes that are no ranks, and what teams send through them.
#include "engine/core.h"

namespace nezha {

Peer* Core::add_outsider(Address address, const Secret& secret) {
  if (peers_.contains(address.id)) return nullptr;
  auto peer = std::make_unique<Peer>();
  peer->same_node = address.node == self_.node && !live_apart(self_.loopback, address.loopback);
  peer->address = std::move(address);
  peer->secret = secret;
  const ProcessId id = peer->address.id;
  Peer* const added = add(std::move(peer));
  try {
    open(*added);
    if (added->connects) wiring_.want(*added, clock_.now());
  } catch (...) {
    std::erase(open_, added);
    peers_.erase(id);
    throw;
  }
  return added;
}

void Core::remove_outsider(Peer& peer) {
  for (const auto& team : teams_)
    if (team->star() != nullptr && team->star()->trunk() == peer.trunk.get()) team->star()->lost();
  std::erase_if(news_, [&](const auto& news) { return news.first == &peer; });
  wiring_.forget(peer);
  peer.trunk->close([this](Lane& lane) { dead_.emplace_back(&lane, place_of(lane.spec().local_rail).transport); });
  busy_.forget(*peer.trunk);
  std::erase(open_, &peer);
  peers_.erase(peer.address.id);
}

void Core::join_star(Team& team, std::span<Peer* const> linked) {
  Star& star = *team.star();
  const int common = star.common();
  if (common < 0) return;
  Peer* const peer = linked[static_cast<std::size_t>(common)];
  const bool there = peer != nullptr && peer->address.id == star.process(common);  // or it has gone while all agreed
  star.join(there ? peer->trunk.get() : nullptr);
  ready_[star.id()] = &team;
  if (there)
    log_.line(team.rank() == 0 ? 1 : 2, "team %s reduces through %s too", team.name().c_str(), peer->label().c_str());
}

void Core::leave_star(Team& team) {
  end_star(team);
  const std::string& why = team.star()->why();
  log_.line(1, "team %s goes on over the rails alone: its aggregator: %s", team.name().c_str(),
            why.empty() ? "another rank lacks sums of it" : why.c_str());
}

void Core::end_star(Team& team) {
  Star* const star = team.star();
  if (star == nullptr || !star->in()) return;
  ready_.erase(star->id());
  star->leave();
}

}  // namespace nezha
