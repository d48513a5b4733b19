// SPDX-License-Identifier: BSD-3-Clause
/// Which ways there are for a size class. A function of what a team has agreed on, so all ranks get the same list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tuning/candidate.h"
#include "tuning/plan.h"
#include "util/collective.h"

namespace nezha {

/// Class k holds vectors of 2^k to 2^(k+1) - 1 bytes.
constexpr std::size_t kSizeClasses = 48;
std::size_t size_class_of(std::size_t bytes);

/// "ring on one rail from 64k bytes": as text_of(), and the class's smallest vector.
std::string text_of(const Candidate& candidate, const RailNames& names, std::size_t size_class);

/// How many ranks of each node carry a vector unless the way says so: one for each `least_part` bytes, `most` at most.
inline std::size_t carriers_by_size(std::size_t bytes, std::size_t least_part, std::size_t most) {
  return std::clamp<std::size_t>(bytes / least_part, 1, most);
}

/// What decides about the candidates beside the size.
struct Terms {
  Plan plan;
  int ranks = 2;
  double rate = 0;  ///< bytes per nanosecond that a rank sends over its rails together; 0 = unknown
  bool rails = false;  ///< there are several, which share by rates
  double best_rail = 0;  ///< bytes per nanosecond of the fastest of them; 0 = unknown
  bool alone = false;    ///< each rank has a node, and so its rails, to itself
  bool incumbent_on_rails = false;  ///< the incumbent has no network but the rails
  Collective collective = Collective::allreduce;
  int nodes = 0;  ///< not 0: ranks of a node share memory, and so many send to each other
  std::size_t carriers = 0;    ///< ranks of each node that can carry an allreduce then
  std::size_t least_part = 1;  ///< see carriers_by_size()

  /// All ranks are on one node, and use nothing but the memory that they share.
  bool within_node() const { return nodes == 1; }
  int senders() const { return nodes != 0 ? nodes : ranks; }
};

constexpr std::size_t kMostCandidates = 8;
/// Rails of one process.
constexpr std::size_t kMostRails = 16;

/// Every vector of the class can be carried this way, and the parameters allow it.
bool possible(const Candidate& candidate, std::size_t size_class, const Terms& terms);

/// Nanoseconds that the class's smallest vector takes at least this way, however well it is carried; 0 = unknown.
std::uint64_t least_time(const Candidate& candidate, std::size_t size_class, const Terms& terms);

/// At most kMostCandidates. The first is what is used until something is measured; then in the order in which they
/// should be tried. What the model puts hopelessly behind is left out.
std::vector<Candidate> candidates(std::size_t size_class, const Terms& terms);

}  // namespace nezha
