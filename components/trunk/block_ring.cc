// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/block_ring.h"

#include <new>
#include <utility>

namespace nezha {

std::byte* BlockRing::take(std::size_t size) {
  if (!memory_) memory_.reset(new (std::nothrow) std::byte[capacity_]);
  if (!memory_ || size > capacity_) return nullptr;
  const std::size_t cost = (size + sizeof(Header) + kAlign - 1) / kAlign * kAlign;
  std::size_t* at = room(cost);
  if (at == nullptr) return nullptr;
  Header* header = header_at(*at);
  *header = {cost, 0};
  *at += cost;
  return reinterpret_cast<std::byte*>(header + 1);
}

std::size_t* BlockRing::room(std::size_t cost) {
  if (end_ == 0 && tail_ >= cost) end_ = std::exchange(head_, 0);
  if (end_ == 0) return capacity_ - head_ >= cost ? &head_ : nullptr;
  if (tail_ - head_ >= cost) return &head_;
  return capacity_ - end_ >= cost ? &end_ : nullptr;
}

void BlockRing::release(std::byte* block) {
  (reinterpret_cast<Header*>(block) - 1)->free = 1;
  reclaim();
}

void BlockRing::reclaim() {
  while (true) {
    if (end_ != 0 && tail_ == end_) tail_ = end_ = 0;
    if (end_ == 0 && tail_ == head_) {
      tail_ = head_ = 0;
      return;
    }
    const Header* oldest = header_at(tail_);
    if (oldest->free == 0) return;
    tail_ += oldest->cost;
  }
}

}  // namespace nezha
