// SPDX-License-Identifier: BSD-3-Clause
/// The teams that have something to be done at a step: of many communicators few have, and a look at a team costs
/// several cache misses. A team is added when something begins, and leaves when a look finds it over. Guarded by the
/// engine's lock.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/team.h"

namespace nezha {

class TeamSet {
 public:
  /// `mark`: which of the team's marks says that it is in.
  explicit TeamSet(TeamMarks::Mark mark) : mark_(mark) {}

  void add(Team& team) {
    if (team.marks.*mark_) return;
    teams_.push_back(&team);
    team.marks.*mark_ = true;
  }
  void remove(Team& team) {
    if (!(team.marks.*mark_)) return;
    team.marks.*mark_ = false;
    std::erase(teams_, &team);
  }
  /// The others leave. `stays` changes no set.
  template <typename Stays>
  void keep(const Stays& stays) {
    std::erase_if(teams_, [&](Team* team) { return !(team->marks.*mark_ = stays(*team)); });
  }

  bool empty() const { return teams_.empty(); }
  std::size_t size() const { return teams_.size(); }
  auto begin() const { return teams_.begin(); }
  auto end() const { return teams_.end(); }

 private:
  TeamMarks::Mark mark_;
  std::vector<Team*> teams_;  ///< in the order in which they came
};

}  // namespace nezha
