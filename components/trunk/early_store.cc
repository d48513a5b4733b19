// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/early_store.h"

#include <algorithm>
#include <bit>

namespace nezha {

std::byte* EarlyStore::reserve(const PieceHeader& header) {
  const std::size_t size = header.length, charge = window_charge(size);
  const bool counted = twin(header.id, true) == nullptr;
  if (counted && charge > window_ - used_) return nullptr;
  std::byte* in_ring = ring_.take(size);
  Slot& slot = idle_slot(in_ring == nullptr);
  slot.data = in_ring;
  if (in_ring == nullptr) {
    if (slot.own.size() < size) slot.own.resize(std::bit_ceil(size));
    slot.data = slot.own.data();
  }
  slot.state = State::arriving;
  slot.header = header;
  slot.counted = counted;
  if (counted) used_ += charge;
  return slot.data;
}

/// The one with most memory of its own where that is needed, else the one with least: so few slots come to have any.
EarlyStore::Slot& EarlyStore::idle_slot(bool for_own) {
  Slot* best = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state != State::idle) continue;
    if (best == nullptr || (slot.own.size() > best->own.size()) == for_own) best = &slot;
  }
  return best != nullptr ? *best : slots_.emplace_back();
}

EarlyStore::Slot* EarlyStore::find(const std::byte* buffer) {
  for (Slot& slot : slots_)
    if (slot.state == State::arriving && slot.data == buffer) return &slot;
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

void EarlyStore::uncount(Slot& slot) {
  if (slot.counted) used_ -= window_charge(slot.header.length);
  slot.counted = false;
}

void EarlyStore::release(Slot& slot) {
  slot.state = State::idle;
  if (slot.data != slot.own.data()) ring_.release(slot.data);
}

void EarlyStore::free(Slot& slot) {
  release(slot);
  Slot* other = slot.counted ? twin(slot.header.id, false) : nullptr;
  if (other == nullptr) return uncount(slot);
  slot.counted = false;
  other->counted = true;
}

}  // namespace nezha
