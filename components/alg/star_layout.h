// SPDX-License-Identifier: BSD-3-Clause
/// The chunks of a part of a vector that goes through an aggregator, numbered from 0 in the order of their places. The same
/// on all members and on the aggregator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alg/call.h"
#include "alg/layout.h"

namespace nezha {

class StarLayout {
 public:
  struct Chunk {
    int block = 0;
    std::size_t begin = 0, size = 0;  ///< bytes of the vector
  };

  /// `call.star.members` blocks. Uses the memory of an earlier one again.
  void cut(const Call& call) {
    const int blocks = static_cast<int>(call.star.members);
    layout_.cut(call.count, call.element, blocks, call.chunk, call.part);
    first_.assign(1, 0);
    packed_.assign(1, 0);
    for (int block = 0; block < blocks; ++block) {
      first_.push_back(first_.back() + layout_.chunks(block));
      packed_.push_back(packed_.back() + layout_.size(block));
    }
  }

  std::size_t chunks() const { return first_.back(); }
  std::size_t bytes() const { return packed_.back(); }
  int blocks() const { return static_cast<int>(first_.size()) - 1; }

  Chunk chunk(std::size_t number) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), number);
    const int block = static_cast<int>(after - first_.begin()) - 1;
    const std::size_t within = number - first_[static_cast<std::size_t>(block)];
    return {block, layout_.chunk_begin(block, within), layout_.chunk_size(block, within)};
  }
  /// A piece from the wire lies within one chunk. `vector`: bytes of the whole.
  bool holds(std::uint64_t offset, std::uint64_t length, std::size_t vector) const {
    return offset < vector && layout_.holds(layout_.block_of(offset), offset, length);
  }
  std::size_t number_of(std::uint64_t offset) const {
    const int block = layout_.block_of(offset);
    return first_[static_cast<std::size_t>(block)] + layout_.chunk_of(block, offset);
  }
  /// Where the byte is among those of the part alone.
  std::size_t packed(std::uint64_t offset) const {
    const int block = layout_.block_of(offset);
    return packed_[static_cast<std::size_t>(block)] + (offset - layout_.begin(block));
  }
  std::size_t block_begin(int block) const { return layout_.begin(block); }
  std::size_t block_size(int block) const { return layout_.size(block); }

 private:
  Layout layout_;
  std::vector<std::size_t> first_;   ///< number of each block's first chunk, and of all
  std::vector<std::size_t> packed_;  ///< bytes of the part before each block, and of all
};

}  // namespace nezha
