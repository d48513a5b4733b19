// SPDX-License-Identifier: BSD-3-Clause
/// A trunk's own memory for bytes that must outlive their source until they are acknowledged: a ring of blocks, given
/// back in any order, reused in the order of addresses. A block goes to the front as soon as there is room, so that few live
/// blocks take turns in little memory, which stays in the processor's cache. Not thread safe; nothing is allocated after the
/// first use.
#pragma once

#include <cstddef>
#include <memory>

namespace nezha {

class BlockRing {
 public:
  /// `capacity` bytes in all, a header of 16 for each block included.
  explicit BlockRing(std::size_t capacity) : capacity_(capacity / kAlign * kAlign) {}

  /// Room for `size` contiguous bytes, or nullptr when there is none now.
  std::byte* take(std::size_t size);
  /// Gives a block back.
  void release(std::byte* block);

 private:
  static constexpr std::size_t kAlign = 16;
  struct Header {
    std::size_t cost;  ///< bytes of the block, header included, a multiple of kAlign
    std::size_t free;  ///< 1 when given back
  };
  static_assert(sizeof(Header) == kAlign);

  Header* header_at(std::size_t at) { return reinterpret_cast<Header*>(memory_.get() + at); }
  /// `head_` or `end_`, behind which the next block of `cost` bytes begins; nullptr: neither has room.
  std::size_t* room(std::size_t cost);
  void reclaim();

  const std::size_t capacity_;
  std::unique_ptr<std::byte[]> memory_;  ///< aligned for Header by operator new
  std::size_t tail_ = 0;                 ///< the oldest block: blocks lie in [tail_, head_), or, while end_ is not 0,
  std::size_t head_ = 0;                 ///< in [tail_, end_) and [0, head_)
  std::size_t end_ = 0;
};

}  // namespace nezha
