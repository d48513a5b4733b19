// SPDX-License-Identifier: BSD-3-Clause
/// Large memory that all operations of a process take turns in. A buffer is mapped by itself, because malloc() may keep
/// for good what is given back to it. It stays in the pool between operations, so that calls like earlier ones map
/// nothing and touch no fresh pages; release_unused() bounds what idle buffers cost. Not thread safe. Outlives its
/// buffers.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace nezha {

class BufferPool {
 public:
  /// Bytes of idle buffers that are kept however long nobody takes them.
  static constexpr std::size_t kMostIdle = 4 * 1024 * 1024;

  /// A buffer while somebody has it; given back to the pool at its end.
  class Buffer {
   public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), data_(other.data_), size_(other.size_) {}
    Buffer& operator=(Buffer&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(data_, other.data_);
      std::swap(size_, other.size_);
      return *this;
    }
    ~Buffer() { give_back(); }

    /// It has memory.
    explicit operator bool() const { return pool_ != nullptr; }
    /// At least as many bytes as were asked for, page-aligned; what is in them is left from their last use.
    std::byte* data() const { return data_; }
    void give_back();

   private:
    friend class BufferPool;
    Buffer(BufferPool& pool, std::byte* data, std::size_t size) : pool_(&pool), data_(data), size_(size) {}

    BufferPool* pool_ = nullptr;  ///< null: it has no memory
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
  };

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  /// `size` is more than 0. Throws std::bad_alloc.
  Buffer take(std::size_t size);
  /// More is idle than may stay: release_unused() is to be called now and then.
  bool excess() const { return idle_bytes_ > kMostIdle; }
  /// Unmaps idle buffers that nobody has taken since the call before, the largest first, until kMostIdle bytes are
  /// idle.
  void release_unused();
  /// Bytes of all buffers, idle or not.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Idle {
    std::byte* data;
    std::size_t size;
    bool used;  ///< since release_unused() was called
  };

  Buffer map(std::size_t size);
  void unmap(std::size_t index);

  std::vector<Idle> idle_;  ///< has room for all buffers, so that giving one back allocates nothing
  std::size_t buffers_ = 0;
  std::size_t bytes_ = 0;
  std::size_t idle_bytes_ = 0;
};

}  // namespace nezha
