// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/early_store.h"

namespace nezha {

std::byte* EarlyStore::reserve(const PieceHeader& header) {
  const std::size_t size = header.length;
  const bool counted = twin(header.id, true) == nullptr;
  if (counted && size > window_ - used_) return nullptr;
  Slot* best = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state != State::idle) continue;
    if (best == nullptr || (best->bytes.size() < size && slot.bytes.size() > best->bytes.size())) best = &slot;
    if (best->bytes.size() >= size) break;
  }
  if (best == nullptr) best = &slots_.emplace_back();
  if (best->bytes.size() < size) best->bytes.resize(size);
  best->state = State::arriving;
  best->header = header;
  best->counted = counted;
  if (counted) used_ += size;
  return best->bytes.data();
}

EarlyStore::Slot* EarlyStore::find(const std::byte* buffer) {
  for (Slot& slot : slots_)
    if (slot.state == State::arriving && slot.bytes.data() == buffer) return &slot;
  return nullptr;
}

/// The same piece on another lane.
EarlyStore::Slot* EarlyStore::twin(std::uint64_t id, bool counted) {
  for (Slot& slot : slots_)
    if (slot.state == State::arriving && slot.header.id == id && slot.counted == counted) return &slot;
  return nullptr;
}

void EarlyStore::keep(const std::byte* buffer) { find(buffer)->state = State::waiting; }

void EarlyStore::drop(const std::byte* buffer) { free(*find(buffer)); }

void EarlyStore::forget(TeamId team) {
  for (Slot& slot : slots_)
    if (slot.state == State::waiting && slot.header.team == team) free(slot);
}

void EarlyStore::uncount(Slot& slot) {
  if (slot.counted) used_ -= slot.header.length;
  slot.counted = false;
}

void EarlyStore::free(Slot& slot) {
  slot.state = State::idle;
  Slot* other = slot.counted ? twin(slot.header.id, false) : nullptr;
  if (other == nullptr) return uncount(slot);
  slot.counted = false;
  other->counted = true;
}

}  // namespace nezha
