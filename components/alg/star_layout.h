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

/// The operation that a description is of.
inline Call call_of(const StarDescription& description) {
  Call call;
  call.count = description.count;
  call.element = element_size(description.terms.type);
  call.chunk = description.chunk;
  call.part = description.part;
  call.star = description.terms;
  return call;
}

class StarLayout {
 public:
  struct Chunk {
    int block = 0;
    std::size_t begin = 0, size = 0;  ///< bytes of the vector
    std::size_t end() const { return begin + size; }
  };

  /// `call.star.members` blocks of the vector, or of each segment. Uses the memory of an earlier one again.
  void cut(const Call& call) {
    const std::size_t bytes = call.bytes();
    segment_ = call.star.segment == 0 ? std::max<std::size_t>(bytes, 1) : call.star.segment;
    full_segments_ = bytes / segment_;
    if (full_segments_ != 0) full_.cut(call, segment_);
    last_.cut(call, bytes % segment_);
    in_full_ = full_segments_ == 0 ? 0 : full_.chunks();
  }

  std::size_t chunks() const { return full_segments_ * in_full_ + last_.chunks(); }

  Chunk chunk(std::size_t number) const {
    const std::size_t segment = in_full_ == 0 ? full_segments_ : std::min(number / in_full_, full_segments_);
    Chunk chunk = blocks_in(segment).chunk(number - segment * in_full_);
    chunk.begin += segment * segment_;
    return chunk;
  }
  /// A piece from the wire lies within one chunk. `vector`: bytes of the whole.
  bool holds(std::uint64_t offset, std::uint64_t length, std::size_t vector) const {
    return offset < vector && blocks_in(offset / segment_).holds(offset % segment_, length);
  }
  std::size_t number_of(std::uint64_t offset) const {
    const std::size_t segment = offset / segment_;
    return segment * in_full_ + blocks_in(segment).number_of(offset % segment_);
  }

 private:
  /// Of one segment.
  class Blocks {
   public:
    void cut(const Call& call, std::size_t bytes) {
      const int blocks = static_cast<int>(call.star.members);
      layout_.cut(bytes / call.element, call.element, blocks, call.chunk, call.part);
      first_.assign(1, 0);
      for (int block = 0; block < blocks; ++block) first_.push_back(first_.back() + layout_.chunks(block));
    }
    std::size_t chunks() const { return first_.back(); }
    Chunk chunk(std::size_t number) const {
      const auto after = std::upper_bound(first_.begin(), first_.end(), number);
      const int block = static_cast<int>(after - first_.begin()) - 1;
      const std::size_t within = number - first_[static_cast<std::size_t>(block)];
      return {block, layout_.chunk_begin(block, within), layout_.chunk_size(block, within)};
    }
    bool holds(std::uint64_t offset, std::uint64_t length) const {
      return layout_.holds(layout_.block_of(offset), offset, length);
    }
    std::size_t number_of(std::uint64_t offset) const {
      const int block = layout_.block_of(offset);
      return first_[static_cast<std::size_t>(block)] + layout_.chunk_of(block, offset);
    }

   private:
    Layout layout_;
    std::vector<std::size_t> first_;  ///< number of each block's first chunk, and of all
  };

  const Blocks& blocks_in(std::size_t segment) const { return segment < full_segments_ ? full_ : last_; }

  std::size_t segment_ = 1;  ///< bytes
  std::size_t full_segments_ = 0;
  std::size_t in_full_ = 0;  ///< chunks of one of them
  Blocks full_, last_;
};

}  // namespace nezha
