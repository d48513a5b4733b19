// SPDX-License-Identifier: BSD-3-Clause
#include "engine/operation.h"

namespace nezha {

Operation::Operation(const TeamView& team, const OpNumber& team_ended)
    : flows_(static_cast<std::size_t>(team.size)), view_(team) {
  view_.flows = flows_;
  for (Flow& flow : flows_) flow.team_ended = &team_ended;
}

void Operation::prepare(TeamId team, OpNumber number, const Call& call, AlgorithmChoice choice) {
  std::unique_ptr<Algorithm>& slot = algorithms_[static_cast<std::size_t>(choice) - 1];
  if (!slot) slot = make_algorithm(choice, view_);
  algorithm_ = slot.get();
  number_ = number;
  call_ = call;
  for (int to = 0; to < view_.size; ++to)
    if (to != view_.position)
      flow(to).open(team, number, call.element, call.one_rail, call.rails, static_cast<std::uint32_t>(call.bytes()));
}

bool Operation::ended() {
  if (!algorithm_->complete()) return false;
  bool all = true;
  for (int to = 0; to < view_.size; ++to) {
    if (to == view_.position) continue;
    peer_began(to);
    all = flow(to).empty() && trunk(to).close_flow(flow(to)) && all;
  }
  if (all) algorithm_->end();
  return all;
}

bool Operation::awaits(int position) const {
  if (position == view_.position) return false;
  if (!algorithm_->complete()) return algorithm_->awaits(position);
  const Flow& flow = flows_[static_cast<std::size_t>(position)];
  return !flow.empty() || flow.unacked != 0;
}

void Operation::abort(std::vector<std::size_t>& charged) {
  for (int to = 0; to < view_.size; ++to)
    if (to != view_.position) charged[static_cast<std::size_t>(to)] += trunk(to).abort_flow(flow(to));
  algorithm_->end();
}

}  // namespace nezha
