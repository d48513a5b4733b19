// SPDX-License-Identifier: BSD-3-Clause
/// The life of a sent piece after it left: acknowledged, superseded, or moved into the trunk's own memory.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "trunk/trunk.h"

namespace nezha {

/// The piece's lane may still be reading its bytes: from here on it reads a copy.
void Trunk::own_if_busy(const SentPiece& piece) {
  if (piece.lane == kNoLane) return;
  const LaneState& state = lanes_[piece.lane];
  if (state.lane != nullptr && piece.frame == state.frames && state.lane->busy()) state.lane->own_rest();
}

/// A lane whose NIC still reads the piece's bytes. Only what is acknowledged may change nevertheless: whatever the NIC sends in its
/// place, the peer has had the piece.
LaneState* Trunk::reader_of(const SentPiece& piece) {
  const std::span bytes(piece.data, piece.header.length);
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const LaneState& state) { return state.lane != nullptr && state.lane->reads(bytes); });
  return found == lanes_.end() ? nullptr : &*found;
}

void Trunk::acknowledged(SentPiece& piece) {
  if (piece.acked) return;
  piece.acked = true;
  if (piece.lane == kNoLane) {
    --replays_;
    replay_bytes_ -= piece.header.length;
  }
  own_if_busy(piece);
  if (piece.kept != nullptr) retransmits_.release(piece.kept);
  if (piece.flow != nullptr) piece.flow->unacked -= piece.header.length;
  early_used_ -= piece.charge;
  piece.charge = 0;
  piece.kept = nullptr;
  piece.flow = nullptr;
}

/// False when the peer acknowledges what was never sent.
bool Trunk::take_ack(const AckRecord& ack) {
  if (ack.below > log_.next()) return false;
  for (std::uint64_t id = log_.oldest(); id < ack.below; ++id) acknowledged(log_.at(id));
  for (std::size_t word = 0; word < ack.bits.size(); ++word) {
    for (std::uint64_t bits = ack.bits[word]; bits != 0; bits &= bits - 1) {
      const std::uint64_t id = ack.below + 64 * word + static_cast<unsigned>(std::countr_zero(bits));
      if (id >= log_.next()) return false;
      if (id >= log_.oldest()) acknowledged(log_.at(id));
    }
  }
  drop_acked();
  return true;
}

void Trunk::drop_acked() {
  while (!log_.empty() && log_.at(log_.oldest()).acked) log_.pop();
}

/// Also of what was withdrawn after it had left: the peer has counted it as a piece of the operation, and its words that it has
/// ended that are its acknowledgement (PendingAcks::sent).
void Trunk::peer_ended(TeamId team, OpNumber op) {
  for (std::uint64_t id = log_.oldest(); id != log_.next(); ++id) {
    SentPiece& piece = log_.at(id);
    const bool other = piece.header.control && piece.header.step != static_cast<std::uint16_t>(Control::withdrawn);
    if (!other && piece.header.team == team && piece.header.op <= op) acknowledged(piece);
  }
  drop_acked();
}

/// Several of the flow's pieces may be of the same bytes: a rack's partial sums of one chunk.
void Trunk::superseded(Flow& flow, std::uint64_t offset, std::uint64_t size) {
  for (std::uint64_t id = log_.oldest(); flow.unacked != 0 && id != log_.next(); ++id) {
    SentPiece& piece = log_.at(id);
    if (piece.flow != &flow) continue;
    if (piece.header.offset < offset + size && offset < piece.header.offset + piece.header.length) acknowledged(piece);
  }
  drop_acked();
}

/// Moves the piece's bytes into the trunk's own memory. False when there is no room now, or a NIC reads them.
bool Trunk::keep_source(SentPiece& piece) {
  if (reader_of(piece) != nullptr) return false;
  std::byte* copy = retransmits_.take(piece.header.length);
  if (copy == nullptr) return false;
  std::memcpy(copy, piece.data, piece.header.length);
  own_if_busy(piece);
  piece.data = piece.kept = copy;
  piece.flow->unacked -= piece.header.length;
  piece.flow = nullptr;
  return true;
}

bool Trunk::keep_sources(Flow& flow) {
  if (flow.unacked > options_.retransmit_memory) return false;
  for (std::uint64_t id = log_.oldest(); flow.unacked != 0 && id != log_.next(); ++id) {
    SentPiece& piece = log_.at(id);
    if (piece.flow == &flow && !keep_source(piece)) return false;
  }
  return close_charge(flow);
}

/// The peer is asked while half of its window is left, so that who is ahead need not stand still until it answers.
bool Trunk::close_charge(Flow& flow) {
  if (flow.charged == 0) return true;
  const bool added = ahead_.add(flow.team(), flow.op(), flow.charged);
  if (added) flow.charged = 0;
  if (!added || ahead_.bytes() > options_.peer_window / 2) ask_ahead();
  return added;
}

/// What is left of the piece is its id: the peer has to see each of them.
void Trunk::withdraw(SentPiece& piece) {
  own_if_busy(piece);
  piece.flow->unacked -= piece.header.length;
  if (piece.lane == kNoLane) replay_bytes_ -= piece.header.length;
  piece.flow = nullptr;
  piece.data = nullptr;
  piece.header.control = true;
  piece.header.checked = false;
  piece.header.step = static_cast<std::uint16_t>(Control::withdrawn);
  piece.header.length = 0;
  pending_acks_.at_least(1);  // the piece does not say any more what has arrived
}

std::size_t Trunk::abort_flow(Flow& flow, Source source) {
  flow.clear();
  unlist(flow);
  for (std::uint64_t id = log_.oldest(); flow.unacked != 0 && id != log_.next(); ++id) {
    if (log_.at(id).flow != &flow) continue;
    while (LaneState* const reader = source == Source::goes ? reader_of(log_.at(id)) : nullptr)
      close_lane(*reader, {Code::io, "its NIC reads what was given up"});
    withdraw(log_.at(id));
  }
  discard(flow.team(), flow.op());
  return std::exchange(flow.charged, 0);
}

}  // namespace nezha
