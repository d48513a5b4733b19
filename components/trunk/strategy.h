// SPDX-License-Identifier: BSD-3-Clause
/// A strategy chooses the lane for the next bytes of a trunk and how many of them it takes. One file each.
#pragma once

#include <cstddef>
#include <span>

#include "trunk/lane_state.h"

namespace nezha {

struct LaneChoice {
  LaneState* lane = nullptr;  ///< null: no lane can take anything now
  std::size_t bytes = 0;      ///< at most this much
};

/// For one peer.
struct Waiting {
  std::size_t bytes = 0;  ///< all of it, > 0
  std::size_t whole = 0;  ///< of them, what goes out first and in one piece, as it did on a lane that is lost
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// `rails`: whose lanes there are to choose from; 0 = all. The strategy asks rails for their fill as it needs.
  virtual LaneChoice choose(std::span<LaneState> lanes, RailSet rails, const Waiting& waiting, Nanoseconds now) const = 0;
};

/// Fills lanes so that all of them end together: the lane that would finish the bytes first takes the next piece, and
/// as much of what is queued as lets it end with the others (NewMadeleine's just-in-time choice, with the kernel's
/// queue and the lane's round trip counted). fill_limit() (lane_limits.h) bounds the queues.
/// A lane is left out only where a piece on it would end after all that is queued, and well after what the others hold, or where its
/// first byte would come after all the others could bring.
const Strategy& earliest_finish();

/// The preferred lane (preferred_lane.h) alone takes what there is, and is waited for.
const Strategy& best_rail();

/// Keeps to shares that the user fixed: the lane that is furthest behind its share takes the next piece, and is waited for
/// when it can take none. Rails without a weight carry nothing as long as one with a weight is up.
const Strategy& weighted();

}  // namespace nezha
