// SPDX-License-Identifier: BSD-3-Clause
#include "engine/links.h"

#include "alg/neighbours.h"

namespace nezha {

Links::Links(const std::vector<Peer*>& peers, int position, bool all, const Need& need)
    : all_(all), positions_(neighbours(static_cast<int>(peers.size()), position, all)), numbers_(peers.size(), -1) {
  for (const int at : positions_) {
    const int number = static_cast<int>(peers_.size());
    Peer& peer = *peers[static_cast<std::size_t>(at)];
    need(peer);
    peers_.push_back(&peer);
    trunks_.push_back(peer.trunk.get());
    numbers_[static_cast<std::size_t>(at)] = number;
    if (by_trunk_.size() <= peer.trunk->number()) by_trunk_.resize(peer.trunk->number() + 1U, -1);
    by_trunk_[peer.trunk->number()] = number;
  }
}

void Links::fill(TeamView& view) const {
  view.trunks = trunks_;
  view.neighbours = positions_;
  view.numbers = numbers_;
}

}  // namespace nezha
