// SPDX-License-Identifier: BSD-3-Clause
#include "engine/operations.h"

#include <algorithm>
#include <utility>

namespace nezha {

Operations::Operations(const TeamView& view, OpNumber before)
    : view_(view), begun_(before), ended_(before), peers_(view.trunks.size()) {}

Operation& Operations::idle_one() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Operation>(view_, ended_));
    idle_.reserve(all_.size());
    idle_.push_back(all_.back().get());
  }
  return *idle_.back();
}

void Operations::begun(std::size_t bytes, Operation* operation) {
  ++begun_;
  slot_of(begun_) = {begun_, bytes, operation == nullptr, operation};
}

OpNumber Operations::start(const Call& call, AlgorithmChoice choice) {
  Operation& operation = idle_one();
  operation.prepare(team_, begun_ + 1, call, choice);
  idle_.pop_back();
  begun(call.compared(), &operation);
  ++under_way_;
  const OpNumber number = begun_;
  operation.begin([&](std::size_t neighbour) { return peers_[neighbour].begun >= number; });
  for (Trunk* trunk : view_.trunks) trunk->op_begun(team_, number, ended_);
  return number;
}

void Operations::leave_to_incumbent(std::size_t bytes) {
  begun(bytes, nullptr);
  note_ended();
  for (Trunk* trunk : view_.trunks) trunk->op_begun(team_, begun_, ended_);
}

void Operations::note_ended() {
  while (ended_ < begun_ && slot_of(ended_ + 1).operation == nullptr) ++ended_;
}

void Operations::release(OpNumber number) {
  --under_way_;
  idle_.push_back(std::exchange(slot_of(number).operation, nullptr));
  note_ended();
}

bool Operations::finished() {
  for (OpNumber number = ended_ + 1; under_way_ != 0 && number <= begun_; ++number) finished(number);
  return under_way_ == 0;
}

bool Operations::awaits(std::size_t neighbour) const {
  for (OpNumber number = ended_ + 1; under_way_ != 0 && number <= begun_; ++number)
    if (const Operation* operation = find(number); operation != nullptr && operation->awaits(neighbour)) return true;
  return false;
}

bool Operations::overtaken() const {
  return std::any_of(peers_.begin(), peers_.end(), [this](const Progress& peer) { return peer.begun > begun_; });
}

void Operations::drop(OpNumber number) {
  Operation* operation = find(number);
  if (operation == nullptr) return;
  operation->drop();
  release(number);
}

bool Operations::handed_over() const {
  for (OpNumber number = ended_ + 1; number <= begun_; ++number)
    if (const Operation* operation = find(number); operation != nullptr && !operation->handed_over()) return false;
  return true;
}

void Operations::fail(const Failure& failure) {
  std::vector<std::size_t> charged(peers_.size());
  for (OpNumber number = ended_ + 1; number <= begun_; ++number) {
    Operation* operation = find(number);
    if (operation == nullptr) continue;
    operation->abort(charged);
    release(number);
  }
  for (std::size_t to = 0; to < charged.size(); ++to)
    if (Trunk* trunk = view_.trunks[to]; trunk != nullptr) trunk->tell_failed(team_, charged[to], failure);
}

/// It may be ahead of us: then the next operation here finds its window open.
void Operations::peer_at(std::size_t neighbour, OpNumber begun, OpNumber ended) {
  Progress& peer = peers_[neighbour];
  if (begun > peer.begun) {
    const OpNumber first = std::max(peer.begun, ended_) + 1;
    peer.begun = begun;
    for (OpNumber number = first; number <= std::min(begun, begun_); ++number)
      if (Operation* operation = find(number)) operation->peer_began(neighbour);
  }
  if (ended > peer.ended) {
    peer.ended = ended;
    view_.trunks[neighbour]->peer_ended(team_, ended);
  }
}

void Operations::all_have_begun(OpNumber number) {
  for (std::size_t neighbour = 0; neighbour < peers_.size(); ++neighbour) peer_at(neighbour, number, peers_[neighbour].ended);
}

Placement Operations::place(std::size_t from, const PieceHeader& piece) const {
  if (piece.op > begun_) return {PlaceKind::early};
  const Slot& slot = slot_of(piece.op);
  if (slot.number != piece.op) return {PlaceKind::bin};
  if (slot.incumbent) return {PlaceKind::bad};
  if (slot.operation == nullptr) return {PlaceKind::bin};
  if (piece.whole != static_cast<std::uint32_t>(slot.bytes)) return {PlaceKind::bad};
  return slot.operation->algorithm().place(view_.neighbours[from], piece);
}

}  // namespace nezha
