// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "trunk/trunk.h"

namespace nezha {

Trunk::Trunk(ProcessId peer, const TrunkOptions& options, PieceReceiver& receiver, const Clock& clock, const Log& log)
    : peer_(peer),
      options_(options),
      receiver_(receiver),
      clock_(clock),
      log_sink_(log),
      strategy_(&earliest_finish()),
      keep_(options.keep),
      early_(options.early_window) {}

void Trunk::add_lane(std::uint8_t local_rail, std::uint8_t remote_rail, RailLoad& rail) {
  LaneState& state = lanes_.emplace_back();
  state.local_rail = local_rail;
  state.remote_rail = remote_rail;
  state.rail = &rail;
  if (rail.weight > 0) strategy_ = &weighted();
}

bool Trunk::lane_is_down(std::uint8_t local_rail, std::uint8_t remote_rail) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const LaneState& state) {
    return state.lane == nullptr && state.local_rail == local_rail && state.remote_rail == remote_rail;
  });
}

std::size_t Trunk::lanes_up() const {
  return static_cast<std::size_t>(
      std::count_if(lanes_.begin(), lanes_.end(), [](const LaneState& state) { return state.lane != nullptr; }));
}

double Trunk::rate() const {
  double sum = 0;
  for (const LaneState& state : lanes_) sum += state.lane != nullptr ? state.rate : 0;
  return sum;
}

void Trunk::lane_up(Lane& lane) {
  for (LaneState& state : lanes_) {
    if (state.lane != nullptr || state.local_rail != lane.spec().local_rail ||
        state.remote_rail != lane.spec().remote_rail)
      continue;
    state.lane = &lane;
    state.rate = 0;
    for (LaneState& each : lanes_) each.given = 0;  // shares count anew
    state.rail->lanes_up += 1;
    return;
  }
}

LaneState& Trunk::state_of(Lane& lane) {
  return *std::find_if(lanes_.begin(), lanes_.end(), [&](const LaneState& state) { return state.lane == &lane; });
}

void Trunk::lane_free(Lane&) { pump(); }

void Trunk::lane_down(Lane& lane, const Status& why) {
  LaneState& state = state_of(lane);
  const std::uint8_t index = index_of(state);
  drop_receiving(state);
  for (std::uint64_t id = log_.oldest(); id != log_.next(); ++id) {
    SentPiece& piece = log_.at(id);
    if (piece.lane != index || piece.acked) continue;
    piece.lane = kNoLane;
    ++replays_;
  }
  if (received_.any()) owed_pieces_ = kAckPieces;  // acks that the lane carried may be lost: they are owed again
  state.reset(clock_.now());
  state.rail->lanes_up -= 1;
  receiver_.lane_lost(*this, lane, why);
}

void Trunk::close() {
  for (LaneState& state : lanes_) {
    if (state.lane == nullptr) continue;
    drop_receiving(state);
    state.lane->close();
    state.reset(clock_.now());
    state.rail->lanes_up -= 1;
  }
}

}  // namespace nezha
