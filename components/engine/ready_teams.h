// SPDX-License-Identifier: BSD-3-Clause
/// The teams whose pieces are taken, by every id that these may bear: a team's own, its hierarchy's, its stars' and that of small
/// calls. Remembers the one found last, since a piece is asked for several times on its way. Guarded by the engine's lock.
#pragma once

#include <unordered_map>

#include "trunk/piece.h"

namespace nezha {

class Team;

class ReadyTeams {
 public:
  /// `id` is not 0.
  void add(TeamId id, Team& team) {
    teams_[id] = &team;
    forget_last();
  }
  void remove(TeamId id) {
    teams_.erase(id);
    forget_last();
  }
  /// Null: there is none, or not yet.
  Team* find(TeamId id) const {
    if (id == last_) return last_team_;
    const auto found = teams_.find(id);
    if (found == teams_.end()) return nullptr;
    last_ = id;
    return last_team_ = found->second;
  }

 private:
  void forget_last() {
    last_ = 0;
    last_team_ = nullptr;
  }

  std::unordered_map<TeamId, Team*> teams_;
  mutable TeamId last_ = 0;
  mutable Team* last_team_ = nullptr;
};

}  // namespace nezha
