// SPDX-License-Identifier: BSD-3-Clause
/// How a vector is cut: into one block per position, and blocks into chunks. The same on all ranks, and the same blocks
/// for every algorithm, so that the order in which an element's contributions are summed depends only on where it lies.
///
/// Contributions to block b are folded from position b upwards around the ring; position b - 1 is last: its owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace nezha {

class Layout {
 public:
  Layout() = default;
  /// `chunk` is a multiple of `element`.
  Layout(std::size_t count, std::size_t element, int blocks, std::size_t chunk)
      : count_(count), element_(element), blocks_(static_cast<std::size_t>(blocks)), chunk_(chunk) {}

  std::size_t begin(int block) const { return count_ / blocks_ * at(block) * element_ + rest(block) * element_; }
  std::size_t end(int block) const { return begin(block + 1); }
  std::size_t size(int block) const { return end(block) - begin(block); }
  std::size_t largest() const { return (count_ / blocks_ + (count_ % blocks_ != 0 ? 1 : 0)) * element_; }

  /// Which block holds the element at `offset`, a byte of the vector.
  int block_of(std::uint64_t offset) const {
    const std::uint64_t at = offset / element_, each = count_ / blocks_, more = (each + 1) * (count_ % blocks_);
    return static_cast<int>(at < more ? at / (each + 1) : count_ % blocks_ + (at - more) / each);
  }

  std::size_t chunks(int block) const { return (size(block) + chunk_ - 1) / chunk_; }
  std::size_t most_chunks() const { return (largest() + chunk_ - 1) / chunk_; }
  std::size_t chunk_of(int block, std::uint64_t offset) const { return (offset - begin(block)) / chunk_; }
  std::size_t chunk_begin(int block, std::size_t chunk) const { return begin(block) + chunk * chunk_; }
  std::size_t chunk_size(int block, std::size_t chunk) const {
    return std::min(chunk_, end(block) - chunk_begin(block, chunk));
  }

  /// True when [offset, offset + length) is a run of whole elements within one chunk of the block.
  bool holds(int block, std::uint64_t offset, std::uint64_t length) const {
    if (length == 0 || offset % element_ != 0 || length % element_ != 0) return false;
    if (offset < begin(block) || length > size(block) || offset > end(block) - length) return false;
    return chunk_of(block, offset) == chunk_of(block, offset + length - 1);
  }

 private:
  static std::size_t at(int block) { return static_cast<std::size_t>(block); }
  /// The first count % blocks blocks have one element more.
  std::size_t rest(int block) const { return std::min(at(block), count_ % blocks_); }

  std::size_t count_ = 0;
  std::size_t element_ = 1;
  std::size_t blocks_ = 1;
  std::size_t chunk_ = 1;
};

}  // namespace nezha
