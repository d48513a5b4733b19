// SPDX-License-Identifier: BSD-3-Clause
/// Memory behind a descriptor without a name: nobody can open it, it is handed from process to process, and it is gone
/// when the last of them is. Its size is sealed, so that no process can make another one fault by cutting it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <utility>

#include "util/fd.h"
#include "util/status.h"

namespace nezha {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)), process_(other.process_) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(process_, other.process_);
    return *this;
  }
  ~SharedMemory();

  /// New memory of zeros. Pages take room when they are touched.
  static Status make(std::size_t size, Fd& descriptor);
  /// Maps what another process has made. Not ok unless it has this size and its size is sealed. Children do not inherit
  /// it: for them nothing lies at base().
  Status map(const Fd& descriptor, std::size_t size);

  std::byte* base() const { return base_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  pid_t process_ = 0;  ///< that has mapped it
};

}  // namespace nezha
