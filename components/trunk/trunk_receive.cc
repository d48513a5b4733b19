// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "trunk/trunk.h"
#include "util/crc32c.h"

namespace nezha {
namespace {

/// Operations of a peer that may wait to hear that we have begun.
constexpr std::size_t kMaxWants = 4096;

/// The host's reductions may need the alignment that malloc gives.
std::size_t aligned(std::size_t size) {
  return (size + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
}

Status bad(const char* what) { return {Code::bad_wire, std::string("bad frame: ") + what}; }

}  // namespace

Status Trunk::frame_begins(Lane& lane, std::span<const std::byte> header, std::size_t payload, ScatterList& into) {
  LaneState& state = state_of(lane);
  if (Status status = parse_records(header, payload, state.records); !status.ok()) return status;
  if (state.records.has_ack && !take_ack(state.records.ack)) return bad("an ack for what was never sent");
  state.receiving = state.spoke = true;
  heard_ = true;
  if (Status status = place_all(state); !status.ok()) {
    drop_receiving(state);
    return status;
  }
  into.count = 0;
  for (std::size_t i = 0; i < state.records.count; ++i) {
    if (state.records.pieces[i].length == 0) continue;
    state.segment[i] = static_cast<std::uint8_t>(into.count);
    into.segments[into.count++] = {state.places[i].where, state.records.pieces[i].length};
  }
  state.rail->frames_received += 1;
  state.rail->bytes_received += payload;
  return {};
}

/// Who sends something of an operation has begun it.
void Trunk::peer_at(const PieceHeader& piece) {
  if (!ahead_.empty()) early_used_ -= ahead_.release(piece.team, piece.op);
  owner_.operations.peer_at(*this, piece.team, piece.op, piece.ended());
}

/// What would wait for a team that is gone would wait for ever.
Placement Trunk::place_of(const PieceHeader& piece) {
  const Placement place = owner_.pieces.place(*this, piece);
  return place.kind == PlaceKind::early && gone_.contains(piece.team) ? Placement{PlaceKind::bin} : place;
}

/// Finds a place for each piece of the frame. Scratch is given out last, when its sum is known.
Status Trunk::place_all(LaneState& state) {
  std::size_t scratch = 0;
  for (std::size_t i = 0; i < state.records.count; ++i) state.places[i] = {};
  for (std::size_t i = 0; i < state.records.count; ++i) {
    const PieceHeader& piece = state.records.pieces[i];
    if (!received_.acceptable(piece.id)) return bad("a piece id outside the window");
    if (received_.contains(piece.id)) continue;
    if (piece.control) {  // refused before it counts as received
      const bool asks = piece.step == static_cast<std::uint16_t>(Control::want);
      if (asks && !log_.room_for_answer()) return bad("too many questions are unanswered");
      continue;
    }
    peer_at(piece);
    Placement& place = state.places[i] = place_of(piece);
    if (place.kind == PlaceKind::bad) return bad("a piece that its operation cannot have");
    if (place.kind == PlaceKind::scratch) scratch += aligned(piece.length);
    if (place.kind == PlaceKind::early && (place.where = early_.reserve(piece)) == nullptr) {
      place.kind = PlaceKind::bin;
      return bad("more early pieces than the window allows");
    }
  }
  if (state.scratch.size() < scratch) state.scratch.resize(std::bit_ceil(scratch));
  std::byte* at = state.scratch.data();
  for (std::size_t i = 0; i < state.records.count; ++i) {
    if (state.places[i].overwrites) owner_.pieces.arriving(*this, state.records.pieces[i]);
    if (state.places[i].kind != PlaceKind::scratch) continue;
    state.places[i].where = at;
    at += aligned(state.records.pieces[i].length);
  }
  return {};
}

Status Trunk::frame_ends(Lane& lane) {
  LaneState& state = state_of(lane);
  state.receiving = false;
  for (std::size_t i = 0; i < state.records.count; ++i) {
    Status status = complete(state, i);
    if (!status.ok()) {
      for (std::size_t rest = i + 1; rest < state.records.count; ++rest)
        if (state.places[rest].kind == PlaceKind::early) early_.drop(state.places[rest].where);
      return status;
    }
  }
  if (has_queued()) pump();
  return {};
}

Status Trunk::complete(LaneState& state, std::size_t index) {
  const PieceHeader& piece = state.records.pieces[index];
  const Placement place = state.places[index];
  is_busy();
  pending_acks_.add(piece);
  if (received_.contains(piece.id)) {
    if (place.kind == PlaceKind::early) early_.drop(place.where);
    return {};
  }
  if (piece.checked && place.where != nullptr && crc32c(0, place.where, piece.length) != piece.crc) {
    if (place.kind == PlaceKind::early) early_.drop(place.where);
    return bad("the checksum of a payload is wrong");
  }
  received_.add(piece.id);
  discard_elsewhere(piece.id);
  if (piece.control) return control_arrived(state, piece);
  const bool good =
      place.kind == PlaceKind::early ? settle_early(piece, place.where) : deliver(piece, place, place.where);
  return good ? Status{} : bad("a piece that its operation cannot have");
}

/// Tells the operation. `data` is where the bytes are now.
bool Trunk::deliver(const PieceHeader& piece, Placement place, const std::byte* data) {
  switch (place.kind) {
    case PlaceKind::direct:
      if (place.where != data) {
        if (place.overwrites) owner_.pieces.arriving(*this, piece);
        std::memcpy(place.where, data, piece.length);
      }
      return owner_.pieces.arrived(*this, piece, place.where);
    case PlaceKind::scratch:
      return owner_.pieces.arrived(*this, piece, data);
    case PlaceKind::bin:
      return true;
    case PlaceKind::early:
    case PlaceKind::bad:
      break;
  }
  return false;
}

/// A piece in the early store is complete. Its operation may have begun meanwhile.
bool Trunk::settle_early(const PieceHeader& piece, std::byte* buffer) {
  const Placement place = place_of(piece);
  if (place.kind == PlaceKind::early) {
    early_.keep(buffer);
    return true;
  }
  const bool good = deliver(piece, place, buffer);
  early_.drop(buffer);
  return good;
}

void Trunk::answer_begun(TeamId team, OpNumber op, OpNumber ended) {
  early_.take(team, op, [this](const PieceHeader& piece, const std::byte* data) {
    peer_at(piece);
    deliver(piece, owner_.pieces.place(*this, piece), data);
  });
  if (wants_.empty()) return;
  const auto asked = [&](const Want& want) { return want.team == team && want.op <= op; };
  if (std::none_of(wants_.begin(), wants_.end(), asked)) return;
  wants_.erase(std::remove_if(wants_.begin(), wants_.end(), asked), wants_.end());
  send_control(Control::begun, team, op).header.set_ended(ended);
  pump();
}

void Trunk::forget_team(TeamId team) {
  early_.forget(team);
  if (!gone_.contains(team)) gone_.add(team);
  wants_.erase(std::remove_if(wants_.begin(), wants_.end(), [&](const Want& want) { return want.team == team; }),
               wants_.end());
  if (!ahead_.empty()) ask_ahead(team);
}

Status Trunk::control_arrived(LaneState& state, const PieceHeader& piece) {
  switch (static_cast<Control>(piece.step)) {
    case Control::want:
      peer_at(piece);
      if (owner_.operations.has_begun(piece.team, piece.op) || gone_.contains(piece.team)) {
        send_control(Control::begun, piece.team, piece.op);  // nothing is kept for a team that is gone
      } else {
        if (wants_.size() >= kMaxWants) return bad("too many operations wait for window");
        wants_.push_back({piece.team, piece.op});
      }
      return {};
    case Control::begun:
      peer_at(piece);
      return {};
    case Control::lane_closed:
      peer_closed(piece.team);
      return {};
    case Control::failed: {
      Failure failure;
      if (Status status = decode_failure(piece, failure); !status.ok()) return status;
      early_used_ -= ahead_.release(piece.team, kLastOperation);  // the sender keeps nothing of it any more
      forget_team(piece.team);                                    // and counts on the same
      owner_.operations.team_failed(piece.team, failure);
      return {};
    }
    case Control::rail_at: {
      std::optional<RailNotice> notice;
      if (Status status = rail_news_.take(piece, notice); !status.ok()) return status;
      if (notice) owner_.lanes.peer_rail(*this, *notice);
      return {};
    }
    case Control::alive:
      // At once, since a busy process sends no ack on its own; and by the lane that has just brought the question, since
      // another one may be what the peer doubts.
      if (state.usable() && !state.lane->busy())
        send_ack(state);
      else
        pending_acks_.at_least(kAckPieces);
      return {};
    case Control::withdrawn:
      return {};
  }
  return bad("unknown control");
}

void Trunk::to_bin(LaneState& state, std::size_t index) {
  Placement& place = state.places[index];
  if (place.kind == PlaceKind::bin || state.records.pieces[index].length == 0) return;
  state.lane->redirect(state.segment[index]);
  if (place.kind == PlaceKind::early) early_.drop(place.where);
  place = {};
}

/// Another lane may be half-way into the same piece: it must not write where the operation goes on working.
void Trunk::discard_elsewhere(std::uint64_t id) {
  discard([id](const PieceHeader& piece) { return piece.id == id; });
}

void Trunk::discard(TeamId team, OpNumber op) {
  discard([team, op](const PieceHeader& piece) { return piece.team == team && piece.op == op; });
}

template <typename Unwanted>
void Trunk::discard(const Unwanted& unwanted) {
  for (LaneState& state : lanes_)
    for (std::size_t i = 0; state.receiving && i < state.records.count; ++i)
      if (unwanted(state.records.pieces[i])) to_bin(state, i);
}

void Trunk::drop_receiving(LaneState& state) {
  if (!state.receiving) return;
  state.receiving = false;
  for (std::size_t i = 0; i < state.records.count; ++i)
    if (state.places[i].kind == PlaceKind::early) early_.drop(state.places[i].where);
}

}  // namespace nezha
