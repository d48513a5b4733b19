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
  for (const auto& team : teams_) {
    if (team->stars() == nullptr) continue;
    team->stars()->each([&](Star& star) {
      if (star.trunk() == peer.trunk.get()) star.lost();
    });
  }
  std::erase_if(news_, [&](const auto& news) { return news.first == &peer; });
  wiring_.forget(peer);
  peer.trunk->close([this](Lane& lane) { dead_.emplace_back(&lane, place_of(lane.spec().local_rail).transport); });
  busy_.forget(*peer.trunk);
  std::erase(open_, &peer);
  peers_.erase(peer.address.id);
}

void Core::join_stars(Team& team, std::span<Peer* const> linked) {
  Stars& stars = *team.stars();
  stars.combined();
  for (Stars::Index i = 0; i < Stars::kMost; ++i) {
    if (!stars.common(i)) continue;
    Peer* const peer = i < linked.size() ? linked[i] : nullptr;
    const bool there = peer != nullptr && peer->address.id == stars.process(i);  // or it has gone while all agreed
    ready_[stars.join(i, there ? peer->trunk.get() : nullptr).id()] = &team;
    if (there)
      log_.line(team.rank() == 0 ? 1 : 2, "team %s reduces through %s too", team.name().c_str(), peer->label().c_str());
  }
}

std::vector<BlockPart> Core::leave_stars(Team& team) {
  Stars& stars = *team.stars();
  std::vector<BlockPart> parts;
  for (Stars::Index i = 0; i < Stars::kMost; ++i) {
    if (!stars.lacking(i)) continue;
    const BlockPart part = stars.star(i)->part();
    const std::string why = stars.star(i)->why();
    if (part.from != part.to) parts.push_back(part);
    leave_star(team, i);
    log_.line(1, "team %s goes on without aggregator %s: %s", team.name().c_str(),
              config_.aggregators.entries[i].text().c_str(), why.empty() ? "another rank lacks sums of it" : why.c_str());
  }
  return parts;
}

void Core::leave_star(Team& team, Stars::Index aggregator) {
  const Star* const star = team.stars()->star(aggregator);
  if (star == nullptr) return;
  ready_.erase(star->id());
  team.stars()->leave(aggregator);
}

}  // namespace nezha
