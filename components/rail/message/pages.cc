// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/pages.h"

#include <sys/mman.h>

#include <new>

namespace nezha {

std::shared_ptr<std::byte[]> make_pages(std::size_t size) {
  void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  madvise(pages, size, MADV_DONTFORK);
  return {static_cast<std::byte*>(pages), [size](std::byte* first) { munmap(first, size); }};
}

}  // namespace nezha
