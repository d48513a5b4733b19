// SPDX-License-Identifier: BSD-3-Clause
/// The neighbours of a team's member, which are numbered: to these, and no others, it needs lanes. What goes over all of
/// a team goes over them, so that its cost does not grow with members that are not concerned.
#pragma once

#include <functional>
#include <vector>

#include "alg/call.h"
#include "engine/peer.h"

namespace nezha {

class Links {
 public:
  /// Sees to it that lanes to the peer come up, and that it has a trunk.
  using Need = std::function<void(Peer&)>;

  Links() = default;
  /// Those of `position` among the peers, which are in the team's order (null: the own). `all`: see neighbours().
  Links(const std::vector<Peer*>& peers, int position, bool all, const Need& need);
  /// Has `view` refer to this, which outlives it and does not change meanwhile.
  void fill(TeamView& view) const;

  bool all() const { return all_; }
  const std::vector<Peer*>& peers() const { return peers_; }  ///< by number
  const std::vector<int>& positions() const { return positions_; }
  /// -1: it is none.
  int number_of(const Trunk& trunk) const {
    return trunk.number() < by_trunk_.size() ? by_trunk_[trunk.number()] : -1;
  }

 private:
  bool all_ = false;
  std::vector<Peer*> peers_;
  std::vector<int> positions_;
  std::vector<Trunk*> trunks_;
  std::vector<int> numbers_;   ///< by position
  std::vector<int> by_trunk_;  ///< numbers by Trunk::number()
};

}  // namespace nezha
