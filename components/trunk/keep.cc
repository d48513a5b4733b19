// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/keep.h"

#include <new>

namespace nezha {

std::byte* Keep::take(std::size_t size) {
  if (!memory_) memory_.reset(new (std::nothrow) std::byte[capacity_]);
  const std::size_t cost = (size + sizeof(Header) + kAlign - 1) / kAlign * kAlign;
  if (!memory_ || cost > capacity_ - used_) return nullptr;
  if (used_ == 0) head_ = tail_ = 0;
  const std::size_t to_end = capacity_ - head_;
  if (cost > to_end) {  // the end of the ring is too short: it becomes a block that is free already
    if (to_end + cost > capacity_ - used_) return nullptr;
    if (to_end != 0) {
      *header_at(head_) = {to_end, 1};
      used_ += to_end;
    }
    head_ = 0;
  }
  Header* header = header_at(head_);
  *header = {cost, 0};
  used_ += cost;
  head_ += cost;
  return reinterpret_cast<std::byte*>(header + 1);
}

void Keep::release(std::byte* block) {
  (reinterpret_cast<Header*>(block) - 1)->free = 1;
  reclaim();
}

void Keep::reclaim() {
  while (used_ != 0) {
    if (tail_ == capacity_) tail_ = 0;
    const Header* oldest = header_at(tail_);
    if (oldest->free == 0) return;
    tail_ += oldest->cost;
    used_ -= oldest->cost;
  }
}

}  // namespace nezha
