// SPDX-License-Identifier: BSD-3-Clause
/// The latest teams that have ended, to tell what comes too late from what comes too early.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "trunk/piece.h"

namespace nezha {

class GoneTeams {
 public:
  void add(TeamId team) { teams_[next_++ % teams_.size()] = team; }
  bool contains(TeamId team) const { return team != 0 && std::find(teams_.begin(), teams_.end(), team) != teams_.end(); }

 private:
  std::array<TeamId, 128> teams_{};
  std::size_t next_ = 0;
};

}  // namespace nezha
