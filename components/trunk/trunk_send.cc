// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "trunk/lane_limits.h"
#include "trunk/trunk.h"
#include "util/at_exit.h"
#include "util/crc32c.h"

namespace nezha {

struct Trunk::Frame {
  std::array<std::byte, kMaxFrameHeader> header;
  std::size_t header_size = 0;
  std::array<Gather, kMaxFrameSegments> payload;
  std::size_t segments = 0;
  std::size_t pieces = 0;
  std::size_t bytes = 0;
  std::uint8_t lane = kNoLane;

  bool full() const { return pieces == kMaxFrameSegments; }
};
static_assert(kMaxFrameSegments * kCheckedPieceRecord + kAckRecord <= kMaxFrameHeader);

void Trunk::is_busy() {
  if (busy_ || options_.busy == nullptr) return;
  options_.busy->add(*this);
  busy_ = true;
}

/// Lanes that have nothing under way any more are looked at once more: a peer that is silent then has nothing to answer.
bool Trunk::rest(Nanoseconds now) {
  const auto rests = [this] {
    const auto waits = [](const LaneState& state) { return state.fill != 0 || state.suspect; };
    return !has_queued() && !outstanding() && std::none_of(lanes_.begin(), lanes_.end(), waits);
  };
  if (!rests()) return false;
  listen(now);
  busy_ = !rests();
  return !busy_;
}

void Trunk::send(Flow& flow, const ReadyChunk& chunk) {
  is_busy();
  flow.push(chunk);
  if (!flow.listed) {
    flow.listed = true;
    flows_.push_back(&flow);
  }
  pump();
}

void Trunk::unlist(Flow& flow) {
  if (!flow.listed) return;
  flow.listed = false;
  flows_.erase(std::find(flows_.begin(), flows_.end(), &flow));
}

/// How much of what the flow has queued the peer's window lets through now.
std::size_t Trunk::sendable(const Flow& flow) const {
  if (flow.begun) return flow.queued();
  const std::size_t left = options_.peer_window - std::min(options_.peer_window, early_used_);
  return left < kLeastCharge ? 0 : std::min(flow.queued(), left);
}

std::size_t Trunk::queued() const {
  std::size_t bytes = replays_ + replay_bytes_;  // one without payload counts for something, too
  for (const Flow* flow : flows_) bytes += sendable(*flow);
  return bytes;
}

/// A replay is not split.
std::size_t Trunk::whole() const {
  if (replay_bytes_ == 0) return 0;
  for (std::uint64_t id = log_.oldest(); id != log_.next(); ++id)
    if (const SentPiece& piece = log_.at(id); !piece.acked && piece.lane == kNoLane) return piece.header.length;
  return 0;
}

/// Little for this peer waits until the hold is over: more may come to share its frame.
bool Trunk::held_back() {
  const bool waits = options_.cork != nullptr && options_.cork->on() && queued() <= kSmall;
  if (waits && !held_) options_.cork->add(*this);
  return held_ = waits;
}

bool Trunk::shares_fixed() const { return strategy_ == &weighted(); }

/// One rail only where all that is queued wants it: a frame carries pieces of several operations.
const Strategy& Trunk::strategy() const {
  const bool one =
      !flows_.empty() && std::all_of(flows_.begin(), flows_.end(), [](const Flow* flow) { return flow->one_rail(); });
  return one && !shares_fixed() ? best_rail() : *strategy_;
}

/// Certain rails only where all that is queued wants the same, and one of them has a lane that takes bytes; 0 = all.
RailSet Trunk::rails_wanted() const {
  if (flows_.empty() || flows_.front()->rails() == 0 || shares_fixed()) return 0;
  const RailSet rails = flows_.front()->rails();
  const bool all = std::all_of(flows_.begin(), flows_.end(), [&](const Flow* flow) { return flow->rails() == rails; });
  const bool up = std::any_of(lanes_.begin(), lanes_.end(), [&](const LaneState& lane) { return lane.usable(rails); });
  return all && up ? rails : 0;
}

void Trunk::pump() {
  if (pumping_) return;
  if (held_back()) return;
  pump_lanes();
  if (ack_due()) send_acks();
}

void Trunk::pump_lanes() {
  pumping_ = true;
  const AtExit done([this] { pumping_ = false; });
  while (has_queued() && (log_.room() || replays_ != 0)) {
    std::size_t bytes = queued();
    if (bytes == 0) {  // the window is used up to the last byte
      for (Flow* flow : flows_) ask_for_window(*flow);
      bytes = queued();
      if (bytes == 0) break;
    }
    const Nanoseconds now = clock_.now();
    const LaneChoice choice = strategy().choose(lanes_, rails_wanted(), {bytes, whole()}, now);
    if (choice.lane == nullptr || !send_frame(*choice.lane, choice.bytes, now)) break;
  }
}

bool Trunk::send_frame(LaneState& state, std::size_t room, Nanoseconds now) {
  Frame frame;
  frame.lane = index_of(state);
  add_replays(frame, room);
  add_flows(frame, room);
  return frame.pieces != 0 && hand_over(state, frame, now);
}

/// A control record goes by this lane at once, whatever the strategy would choose.
void Trunk::send_alone(LaneState& state, SentPiece& record) {
  Frame frame;
  frame.lane = index_of(state);
  --replays_;
  add_piece(frame, record);
  hand_over(state, frame, clock_.now());
}

bool Trunk::hand_over(LaneState& state, Frame& frame, Nanoseconds now) {
  if (ack_rides()) {
    frame.header_size += encode_ack(frame.header.data() + frame.header_size, received_.ack());
    pending_acks_.recorded(received_.ack_names_all());
  }
  state.handed(now, frame.header_size + frame.bytes);
  state.rail->frames_sent += 1;
  state.rail->bytes_sent += frame.bytes;
  const Lane::Sent sent =
      state.lane->send({frame.header.data(), frame.header_size}, {frame.payload.data(), frame.segments});
  return sent == Lane::Sent::whole || sent == Lane::Sent::partly;
}

/// `reach`: see Gather.
void Trunk::add_piece(Frame& frame, SentPiece& piece, std::size_t reach) {
  frame.header_size += encode_piece(frame.header.data() + frame.header_size, piece.header);
  if (piece.header.length != 0) frame.payload[frame.segments++] = {piece.data, piece.header.length, reach};
  frame.bytes += piece.header.length;
  ++frame.pieces;
  piece.lane = frame.lane;
  piece.frame = lanes_[frame.lane].frames + 1;
  piece.sent = true;
}

void Trunk::add_replays(Frame& frame, std::size_t room) {
  for (std::uint64_t id = log_.oldest(); replays_ != 0 && id != log_.next() && !frame.full(); ++id) {
    SentPiece& piece = log_.at(id);
    if (piece.acked || piece.lane != kNoLane) continue;
    const std::size_t length = piece.header.length;
    if (frame.pieces != 0 && frame.bytes + length > std::min(room, kMaxFramePayload)) return;
    --replays_;
    replay_bytes_ -= length;
    if (piece.sent) lanes_[frame.lane].rail->retransmissions += 1;
    add_piece(frame, piece);
  }
}

void Trunk::add_flows(Frame& frame, std::size_t room) {
  for (std::size_t tried = 0; tried < flows_.size() && !frame.full() && frame.bytes < room;) {
    turn_ %= flows_.size();
    Flow& flow = *flows_[turn_];
    const bool added = add_chunk(frame, flow, room);
    if (flow.empty()) {
      unlist(flow);
      continue;
    }
    if (!added) ++tried, ++turn_;
  }
}

/// Adds the next piece of the flow. False when it has to wait: for window, for memory, or for the next frame.
bool Trunk::add_chunk(Frame& frame, Flow& flow, std::size_t room) {
  const ReadyChunk chunk = flow.top();
  const std::size_t space = std::min(room, kMaxFramePayload) - std::min(frame.bytes, std::min(room, kMaxFramePayload));
  const std::size_t allowed = sendable(flow);
  std::size_t bytes = std::min<std::size_t>({chunk.size, space, allowed});
  if (bytes < chunk.size) bytes -= bytes % flow.element();
  if (bytes == 0 && frame.pieces == 0 && allowed >= flow.element()) bytes = flow.element();
  if (bytes == 0 || !log_.room()) {
    if (allowed < flow.element()) ask_for_window(flow);
    return false;
  }
  std::byte* copy = nullptr;
  if (chunk.copied) {
    copy = retransmits_.take(bytes);
    if (copy == nullptr) return false;
    std::memcpy(copy, chunk.data, bytes);
  }
  SentPiece& piece = log_.add();
  piece.header.team = flow.team();
  piece.header.op = flow.op();
  piece.header.set_ended(flow.ended());
  piece.header.step = chunk.step;
  piece.header.length = static_cast<std::uint32_t>(bytes);
  piece.header.offset = chunk.offset;
  piece.header.whole = flow.whole();
  piece.kept = copy;
  piece.flow = copy == nullptr ? &flow : nullptr;
  piece.data = copy == nullptr ? chunk.data : copy;
  if (options_.checksum) {
    piece.header.checked = true;
    piece.header.crc = crc32c(0, piece.data, bytes);
  }
  if (copy == nullptr) flow.unacked += bytes;
  if (!flow.begun) {
    flow.charged += window_charge(bytes);
    early_used_ += window_charge(bytes);
  }
  flow.advance(static_cast<std::uint32_t>(bytes));
  pending_acks_.sent(piece.header);
  add_piece(frame, piece, copy == nullptr ? chunk.size : 0);
  return true;
}

void Trunk::tell_begun(const Flow& flow, std::size_t expected) {
  if (expected <= options_.early_window / 2) return;
  send_control(Control::begun, flow.team(), flow.op()).header.set_ended(flow.ended());
  pump();
}

void Trunk::ask_for_window(Flow& flow) {
  if (flow.asked || flow.begun) return;
  flow.asked = true;
  send_control(Control::want, flow.team(), flow.op()).header.set_ended(flow.ended());
}

/// Of operations that have ended here: see Ahead::ask().
void Trunk::ask_ahead(TeamId only) {
  ahead_.ask([&](const Ahead::Entry& entry) { send_control(Control::want, entry.team, entry.op); }, only);
  pump();
}

void Trunk::began(Flow& flow) {
  if (flow.begun) return;
  flow.begun = true;
  early_used_ -= flow.charged;
  flow.charged = 0;
}

SentPiece& Trunk::add_control(Control control) {
  is_busy();
  SentPiece& record = log_.add();
  record.header.control = true;
  record.header.step = static_cast<std::uint16_t>(control);
  ++replays_;
  return record;
}

SentPiece& Trunk::send_control(Control control, TeamId team, OpNumber op) {
  SentPiece& record = add_control(control);
  record.header.team = team;
  record.header.op = op;
  return record;
}

bool Trunk::send_acks() {
  if (pending_acks_.pieces() == 0) return false;
  LaneState* best = nullptr;
  for (LaneState& state : lanes_)
    if (state.usable() && !state.lane->busy() && (best == nullptr || state.fill < best->fill)) best = &state;
  if (best == nullptr) return false;
  send_ack(*best);
  return true;
}

void Trunk::send_ack(LaneState& state) {
  std::array<std::byte, kAckRecord> record;
  encode_ack(record.data(), received_.ack());
  pending_acks_.recorded(received_.ack_names_all());
  state.handed(clock_.now(), record.size());
  state.rail->frames_sent += 1;
  state.lane->send(record, {});
}

}  // namespace nezha
