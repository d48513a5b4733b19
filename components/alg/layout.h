// SPDX-License-Identifier: BSD-3-Clause
/// How a vector is cut: into one block per position, and blocks into chunks. The same on all ranks. For an allreduce blocks
/// are of the same size, and the same for every algorithm, so that the order in which an element's contributions are summed
/// depends only on where it lies. For other collectives the block that a position owns is that of its rank.
///
/// Contributions to block b are folded from position b upwards around the ring; position b - 1 is last: its owner. An
/// algorithm with an order of its own may have another owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nezha {

/// The part of each block that one operation carries, in 65536ths of the block's elements, where several operations
/// carry one vector of an allreduce. Each element keeps its block of the whole vector, and so the order of its sum.
struct BlockPart {
  static constexpr std::uint32_t kWhole = 65536;
  std::uint32_t from = 0, to = kWhole;

  /// So many 65536ths of an amount, whose product with them may be too large.
  static constexpr std::uint64_t of(std::uint64_t amount, std::uint64_t parts) {
    return amount / kWhole * parts + amount % kWhole * parts / kWhole;
  }
  std::uint64_t of(std::uint64_t amount) const { return of(amount, to - from); }

  bool operator==(const BlockPart&) const = default;
};

class Layout {
 public:
  Layout() = default;
  /// Even blocks, and that part of each. `chunk` is a multiple of `element`.
  Layout(std::size_t count, std::size_t element, int blocks, std::size_t chunk, const BlockPart& part = {}) {
    cut(count, element, blocks, chunk, part);
  }

  /// As that; uses the memory of an earlier one again.
  void cut(std::size_t count, std::size_t element, int blocks, std::size_t chunk, const BlockPart& part = {}) {
    count_ = count;
    element_ = element;
    blocks_ = static_cast<std::size_t>(blocks);
    chunk_ = chunk;
    part_ = part;
    given_.clear();
  }
  /// Blocks of which block b has rank_of(b)'s count_of(rank) elements, and lies where the counts of the ranks before add up to.
  template <typename CountOf, typename RankOf>
  void cut(const CountOf& count_of, const RankOf& rank_of, std::size_t element, int blocks, std::size_t chunk) {
    cut(0, element, blocks, chunk);
    given_.resize(blocks_ + 1);
    for (std::size_t block = 0; block < blocks_; ++block)
      given_[static_cast<std::size_t>(rank_of(static_cast<int>(block)))].of_rank = block;
    for (std::size_t rank = 0; rank < blocks_; ++rank) {
      Given& block = given_[given_[rank].of_rank];
      block.begin = count_ * element;
      block.size = count_of(static_cast<int>(rank)) * element;
      count_ += count_of(static_cast<int>(rank));
    }
    std::size_t before = 0, chunks = 0;
    for (std::size_t block = 0; block <= blocks_; ++block) {
      given_[block].before = before;
      given_[block].first_chunk = chunks;
      if (block == blocks_) break;
      before += given_[block].size;
      chunks += (given_[block].size + chunk_ - 1) / chunk_;
    }
  }

  std::size_t begin(int block) const {
    if (!given_.empty()) return given_[at(block)].begin;
    return even_begin(block) + cut_off(block, part_.from);
  }
  std::size_t end(int block) const { return begin(block) + size(block); }
  std::size_t size(int block) const {
    if (!given_.empty()) return given_[at(block)].size;
    return cut_off(block, part_.to) - cut_off(block, part_.from);
  }
  /// Bytes of the blocks before that one, by their numbers. Of whole blocks.
  std::size_t before(int block) const { return given_.empty() ? even_begin(block) : given_[at(block)].before; }

  /// Which whole block holds the element at `offset`, a byte of the vector. Of even blocks by division, else by a search.
  int block_of(std::uint64_t offset) const {
    if (!given_.empty()) return given_block_of(offset);
    const std::uint64_t at = offset / element_, each = count_ / blocks_, more = (each + 1) * (count_ % blocks_);
    return static_cast<int>(at < more ? at / (each + 1) : count_ % blocks_ + (at - more) / each);
  }

  std::size_t chunks(int block) const { return (size(block) + chunk_ - 1) / chunk_; }
  /// The chunks of all blocks are numbered: those of a block are `numbered(block, 0)` and those that follow.
  std::size_t numbered(int block, std::size_t chunk) const {
    return (given_.empty() ? at(block) * most_chunks() : given_[at(block)].first_chunk) + chunk;
  }
  /// Numbers in all.
  std::size_t numbers() const { return numbered(static_cast<int>(blocks_), 0); }
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
  struct Given {
    std::size_t begin = 0, size = 0;     ///< bytes, of the block
    std::size_t before = 0;              ///< bytes of the blocks before it, by number
    std::size_t first_chunk = 0;         ///< chunks of the blocks before it, by number
    std::size_t of_rank = 0;             ///< which block is that of the rank whose number this one has
  };

  static std::size_t at(int block) { return static_cast<std::size_t>(block); }
  std::size_t even_begin(int block) const { return (count_ / blocks_ * at(block) + rest(block)) * element_; }
  /// Bytes from the beginning of a block to that 65536th of its elements.
  std::size_t cut_off(int block, std::size_t where) const {
    const std::size_t elements = count_ / blocks_ + (at(block) < count_ % blocks_ ? 1 : 0);
    return BlockPart::of(elements, where) * element_;
  }
  /// The first count % blocks blocks have one element more.
  std::size_t rest(int block) const { return std::min(at(block), count_ % blocks_); }
  std::size_t most_chunks() const {
    return ((count_ / blocks_ + (count_ % blocks_ != 0 ? 1 : 0)) * element_ + chunk_ - 1) / chunk_;
  }
  /// The last rank whose block begins at or before the offset, and is not empty.
  int given_block_of(std::uint64_t offset) const {
    std::size_t low = 0, high = blocks_;
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (given_[given_[middle].of_rank].begin <= offset ? low : high) = middle;
    }
    return static_cast<int>(given_[low].of_rank);
  }

  std::size_t count_ = 0;
  std::size_t element_ = 1;
  std::size_t blocks_ = 1;
  std::size_t chunk_ = 1;
  BlockPart part_;
  std::vector<Given> given_;  ///< by block, and one more; empty: they are even
};

}  // namespace nezha
