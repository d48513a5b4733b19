// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>
#include <utility>

#include "trunk/lane_limits.h"
#include "trunk/trunk.h"

namespace nezha {

Trunk::Trunk(ProcessId peer, const TrunkOptions& options, const TrunkOwner& owner, const Clock& clock, const Log& log)
    : peer_(peer),
      options_(options),
      owner_(owner),
      clock_(clock),
      log_sink_(log),
      strategy_(&earliest_finish()),
      retransmits_(options.retransmit_memory),
      early_(options.early_window) {}

void Trunk::add_lane(std::uint8_t local_rail, std::uint8_t remote_rail, RailLoad& rail) {
  for (LaneState& each : lanes_) std::erase(each.rail->loaded, &each);  // they are about to move
  LaneState& state = lanes_.emplace_back();
  for (LaneState& each : lanes_)
    if (each.fill != 0) each.rail->loaded.push_back(&each);
  state.local_rail = local_rail;
  state.remote_rail = remote_rail;
  state.rail = &rail;
  rail.add_lane();
  if (rail.weight > 0) strategy_ = &weighted();
}

std::size_t Trunk::index_between(std::uint8_t local_rail, std::uint8_t remote_rail) const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(), [&](const LaneState& state) {
    return state.local_rail == local_rail && state.remote_rail == remote_rail;
  });
  return static_cast<std::size_t>(found - lanes_.begin());
}

bool Trunk::knows_lane(std::uint8_t local_rail, std::uint8_t remote_rail) const {
  return index_between(local_rail, remote_rail) != lanes_.size();
}

std::size_t Trunk::lanes_up() const {
  return static_cast<std::size_t>(
      std::count_if(lanes_.begin(), lanes_.end(), [](const LaneState& state) { return state.lane != nullptr; }));
}

double Trunk::rate() const {
  double sum = 0;
  for (const LaneState& state : lanes_) sum += state.lane != nullptr ? measured(state) : 0;
  return sum;
}

double Trunk::best_rate() const {
  double best = 0;
  for (const LaneState& state : lanes_)
    if (state.lane != nullptr) best = std::max(best, measured(state));
  return best;
}

std::size_t Trunk::under_way() const {
  std::size_t bytes = 0;
  for (const LaneState& state : lanes_) bytes += state.fill;
  return bytes;
}

double Trunk::evenness() const {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const LaneState& state : lanes_) {
    if (state.lane == nullptr) continue;
    least = std::min(least, state.rate.known());
    most = std::max(most, state.rate.known());
  }
  return most > 0 ? least / most : 0;
}

void Trunk::lane_up(Lane& lane) {
  const std::size_t index = index_between(lane.spec().local_rail, lane.spec().remote_rail);
  if (index == lanes_.size()) return;
  LaneState& state = lanes_[index];
  if (state.lane != nullptr) close_lane(state, {Code::io, "a new connection takes its place"});
  state.lane = &lane;
  missed_ = false;  // its process has answered
  if (state.was_up) state.rail->reconnections += 1;
  state.was_up = true;
  state.untold = 0;  // the peer has this connection in its place
  for (LaneState& each : lanes_)
    if (const auto closed = std::exchange(each.untold, 0); closed != 0) send_control(Control::lane_closed, closed, 0);
  state.rate.doubt();
  count_shares_anew();
  state.rail->lanes_up += 1;
}

void Trunk::tell_rail(const RailNotice& notice) {
  encode_notice(notice, ++notices_, [this]() -> PieceHeader& { return add_control(Control::rail_at).header; });
}

LaneState& Trunk::state_of(Lane& lane) {
  return *std::find_if(lanes_.begin(), lanes_.end(), [&](const LaneState& state) { return state.lane == &lane; });
}

/// What others carried in the place of a lane is not owed.
void Trunk::count_shares_anew() {
  for (LaneState& each : lanes_) each.given = 0;
}

void Trunk::lane_free(Lane&) { pump(); }

void Trunk::lane_down(Lane& lane, const Status& why) {
  LaneState& state = state_of(lane);
  drop_receiving(state);
  take_back(state);
  state.reset(clock_.now());
  state.rail->lanes_up -= 1;
  if (std::none_of(lanes_.begin(), lanes_.end(), [](const LaneState& other) { return other.usable(); }))
    for (LaneState& other : lanes_) other.trust();  // a suspect is better than nobody
  count_shares_anew();
  if (lanes_up() != 0) send_control(Control::lane_closed, lane.spec().connection, 0);
  else state.untold = lane.spec().connection;
  owner_.lanes.lane_lost(*this, lane, why);
}

void Trunk::end_lane(LaneState& state) {
  drop_receiving(state);
  state.lane->close();
  state.reset(clock_.now());
  state.rail->lanes_up -= 1;
}

}  // namespace nezha
