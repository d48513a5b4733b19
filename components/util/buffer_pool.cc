// SPDX-License-Identifier: BSD-3-Clause
#include "util/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace nezha {
namespace {

constexpr std::size_t kSmallest = 64 * 1024;
constexpr std::size_t kSteps = 16;  ///< sizes of buffers from one power of two to the next, at least half as many

/// Calls of nearly the same size share a buffer. What is rounded up is not touched and costs no memory.
std::size_t rounded(std::size_t size) {
  const std::size_t step = std::bit_ceil(std::max(size, kSmallest)) / kSteps;
  return (std::max(size, kSmallest) + step - 1) / step * step;
}

}  // namespace

void BufferPool::Buffer::give_back() {
  if (pool_ == nullptr) return;
  pool_->idle_.push_back({data_, size_, true});
  pool_->idle_bytes_ += size_;
  pool_ = nullptr;
}

BufferPool::~BufferPool() {
  while (!idle_.empty()) unmap(idle_.size() - 1);
}

BufferPool::Buffer BufferPool::take(std::size_t size) {
  const auto smaller = [](const Idle& a, const Idle& b) { return a.size < b.size; };
  auto best = idle_.end();
  for (auto each = idle_.begin(); each != idle_.end(); ++each)
    if (each->size >= size && (best == idle_.end() || smaller(*each, *best))) best = each;
  if (best == idle_.end()) {
    // The new one takes the place of one that has become too small.
    if (!idle_.empty())
      unmap(static_cast<std::size_t>(std::max_element(idle_.begin(), idle_.end(), smaller) - idle_.begin()));
    return map(rounded(size));
  }
  Buffer buffer(*this, best->data, best->size);
  idle_bytes_ -= best->size;
  idle_.erase(best);
  return buffer;
}

void BufferPool::release_unused() {
  std::sort(idle_.begin(), idle_.end(), [](const Idle& a, const Idle& b) { return a.size < b.size; });
  for (std::size_t index = idle_.size(); index-- > 0 && excess();)
    if (!idle_[index].used) unmap(index);
  for (Idle& idle : idle_) idle.used = false;
}

BufferPool::Buffer BufferPool::map(std::size_t size) {
  idle_.reserve(buffers_ + 1);
  void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  ++buffers_;
  bytes_ += size;
  return Buffer(*this, static_cast<std::byte*>(data), size);
}

void BufferPool::unmap(std::size_t index) {
  const Idle idle = idle_[index];
  munmap(idle.data, idle.size);
  idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(index));
  --buffers_;
  bytes_ -= idle.size;
  idle_bytes_ -= idle.size;
}

}  // namespace nezha
