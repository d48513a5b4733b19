// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/early_store.h"

namespace nezha {

std::byte* EarlyStore::reserve(std::size_t size) {
  if (size > window_ - used_) return nullptr;
  Slot* best = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state != State::idle) continue;
    if (best == nullptr || (best->bytes.size() < size && slot.bytes.size() > best->bytes.size())) best = &slot;
    if (best->bytes.size() >= size) break;
  }
  if (best == nullptr) best = &slots_.emplace_back();
  if (best->bytes.size() < size) best->bytes.resize(size);
  best->state = State::arriving;
  best->size = size;
  used_ += size;
  return best->bytes.data();
}

EarlyStore::Slot* EarlyStore::find(const std::byte* buffer) {
  for (Slot& slot : slots_)
    if (slot.state == State::arriving && slot.bytes.data() == buffer) return &slot;
  return nullptr;
}

void EarlyStore::keep(const std::byte* buffer, const PieceHeader& header) {
  Slot* slot = find(buffer);
  slot->header = header;
  slot->state = State::waiting;
}

void EarlyStore::drop(const std::byte* buffer) { free(*find(buffer)); }

void EarlyStore::forget(TeamId team) {
  for (Slot& slot : slots_)
    if (slot.state == State::waiting && slot.header.team == team) free(slot);
}

void EarlyStore::free(Slot& slot) {
  used_ -= slot.size;
  slot.state = State::idle;
}

}  // namespace nezha
