// SPDX-License-Identifier: BSD-3-Clause
#include "engine/operation.h"

#include <algorithm>

namespace nezha {
namespace {

/// So who has the result knows that all have begun.
bool needs_all(const Call& call, const TeamView& team) {
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::barrier:
      return true;
    case Collective::reduce_scatter:
    case Collective::reduce:
      return call.count_of(team.rank_at[static_cast<std::size_t>(team.position)]) != 0;
    case Collective::allgather:
      return std::find(call.counts, call.counts + team.size, 0) == call.counts + team.size;
    case Collective::broadcast:
      break;
  }
  return false;
}

/// Pieces are cut at multiples of it; a small vector's are not cut.
std::size_t grain_of(const Call& call, const TeamView& team) {
  if (call.star.whole) return team.position == 0 ? kStarDescriptionSize + call.bytes() : call.bytes();
  return call.star.members != 0 ? kStarGrain : call.element;
}

/// The member's view has it first, as has that of a rack's aggregator towards the upstream one.
std::unique_ptr<Algorithm> make_star(const StarTerms& terms, const TeamView& team) {
  if (terms.tier == StarTier::climb) return make_star_climb(team);
  if (terms.whole) return team.position == 0 ? make_whole_leaf(team) : make_whole_center(team);
  if (terms.tier == StarTier::upstream) return make_star_upstream(team);
  return team.position == 0 ? make_star_leaf(team) : make_star_center(team);
}

}  // namespace

Operation::Operation(const TeamView& team, const OpNumber& team_ended)
    : flows_(team.trunks.size()), view_(team) {
  view_.flows = flows_;
  for (Flow& flow : flows_) flow.team_ended = &team_ended;
}

Algorithm& Operation::algorithm_for(const Call& call, AlgorithmChoice choice) {
  if (call.collective == Collective::barrier) {
    if (!barrier_) barrier_ = make_dissemination(view_);
    return *barrier_;
  }
  if (call.star.members != 0) {
    std::unique_ptr<Algorithm>& slot = call.star.whole ? whole_ : star_;
    if (!slot) slot = make_star(call.star, view_);
    return *slot;
  }
  const AlgorithmChoice taken = affordable(choice, call, view_.size);
  std::unique_ptr<Algorithm>& slot = algorithms_[static_cast<std::size_t>(taken) - 1];
  if (!slot) slot = make_algorithm(taken, view_);
  return *slot;
}

void Operation::prepare(TeamId team, OpNumber number, const Call& call, AlgorithmChoice choice) {
  algorithm_ = &algorithm_for(call, choice);
  number_ = number;
  call_ = call;
  needs_all_ = needs_all(call, view_);
  const std::size_t grain = grain_of(call, view_);
  for (Flow& flow : flows_)
    flow.open(team, number, grain, call.one_rail, call.rails, static_cast<std::uint32_t>(call.compared()));
}

bool Operation::flows_closed() {
  bool all = true;
  for (std::size_t to = 0; to < flows_.size(); ++to) {
    if (needs_all_) peer_began(to);
    all = flows_[to].empty() && trunk(to).close_flow(flows_[to]) && all;
  }
  if (all) algorithm_->end();
  return all;
}

bool Operation::awaits(std::size_t neighbour) const {
  if (!algorithm_->complete()) return algorithm_->awaits(view_.neighbours[neighbour]);
  const Flow& flow = flows_[neighbour];
  return !flow.empty() || flow.unacked != 0;
}

void Operation::abort(std::vector<std::size_t>& charged) {
  for (std::size_t to = 0; to < flows_.size(); ++to) charged[to] += trunk(to).abort_flow(flows_[to]);
  algorithm_->end();
}

void Operation::drop() {
  for (std::size_t to = 0; to < flows_.size(); ++to) {
    peer_began(to);
    trunk(to).abort_flow(flows_[to]);
  }
  algorithm_->end();
}

}  // namespace nezha
