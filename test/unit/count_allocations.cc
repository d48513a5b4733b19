// SPDX-License-Identifier: BSD-3-Clause
#include "count_allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};
std::atomic<std::size_t> live{0};

}  // namespace

std::size_t nezha::test::allocations() { return count; }
std::size_t nezha::test::live_bytes() { return live; }

/// This one too, although the library's would call the one below: a sanitizer has one of its own, which does not.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  void* memory = std::malloc(size == 0 ? 1 : size);
  live += malloc_usable_size(memory);
  return memory;
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  live -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
