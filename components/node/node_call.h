// SPDX-License-Identifier: BSD-3-Clause
/// One collective over the members of a node, and how its vector is cut: into one part for each carrier, parts into
/// chunks that are numbered in turn over the parts, and a chunk into one slice for each member. Alike on all members.
///
///   collective   from                             to                                carriers
///   allreduce    every member                     every member                      some; none where the node is alone
///   broadcast    the root; none on other nodes    every member                      some; none where the node is alone
///   reduce       every member                     the root; none on other nodes     some; the root where the node is
///                                                                                   alone, and to none
///   reduce_scatter  every member                  none                              all
///   allgather    none; every member its block     every member                      all; some
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "reduce/reducer.h"

namespace nezha {

constexpr std::uint32_t kEveryMember = UINT32_MAX;
constexpr std::uint32_t kNoMember = UINT32_MAX - 1;

/// Bytes [begin, end) of the vector.
struct NodeRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  /// What both have; may be empty.
  NodeRange with(const NodeRange& other) const {
    const std::size_t from = std::max(begin, other.begin);
    return {from, std::max(from, std::min(end, other.end))};
  }
};

struct NodeCall {
  const std::byte* send = nullptr;  ///< equal to recv when in place, and where it is the node's value; else may be null
  std::byte* recv = nullptr;        ///< of members that get the result, and of carriers for their part; else may be null
  std::size_t bytes = 0;  ///< whole elements
  Reducer reducer;        ///< with the size of an element
  /// Members that take the node's value through a stage between nodes, each one part of the vector; alike on all
  /// members, kept by the caller until the operation is over. Empty: the node is alone, and its value is the result.
  std::span<const std::uint32_t> carriers;
  /// Whose vectors make the node's value: the sum over all, or that of one member. None: carriers have the result from
  /// elsewhere, and are to supply it.
  std::uint32_t from = kEveryMember;
  /// Who gets the result, beside carriers their part: all, one member, or none.
  std::uint32_t to = kEveryMember;
  /// Bytes, not 0: every member's vector makes but a block of the node's value, as large as the others', where its own is (block_of);
  /// nothing is added up, and what is in nobody's block is left as it is. Carriers are as many as divide the members.
  std::size_t block = 0;
  std::size_t blocks_at = 0;  ///< bytes from the beginning of a part to the blocks that it has, which follow one another

  bool gathers() const { return block != 0; }
  NodeRange block_of(std::uint32_t member, std::uint32_t members) const {
    const std::size_t each = members / carriers.size();  // in a part
    const std::size_t begin = blocks_in(member / each, members).begin + member % each * block;
    return {begin, begin + block};
  }
  /// Where a part has them.
  NodeRange blocks_in(std::size_t part, std::uint32_t members) const {
    const std::size_t each = members / carriers.size();
    const std::size_t begin = part * (bytes / carriers.size()) + blocks_at;
    return {begin, begin + each * block};
  }
  bool folds() const { return from == kEveryMember; }
  /// One member's vector is the result.
  bool hands_out() const { return from < kNoMember; }
  bool goes_to(std::uint32_t member) const { return to == kEveryMember || to == member; }
};

class NodeCut {
 public:
  NodeCut() = default;
  /// `chunk` bytes at most make a chunk. `element` is not larger.
  NodeCut(std::size_t bytes, std::size_t element, std::size_t chunk, std::uint32_t members, std::size_t parts)
      : count_(bytes / element),
        element_(element),
        chunk_(chunk / element * element),
        members_(members),
        parts_(parts) {
    granule_ = kAlign / std::gcd(kAlign, element);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < parts; ++i) longest = std::max(longest, part(i).size());
    rounds_ = (longest + chunk_ - 1) / chunk_;
  }

  std::uint64_t chunks() const { return rounds_ * parts_; }
  std::size_t part_of(std::uint64_t chunk) const { return static_cast<std::size_t>(chunk % parts_); }

  NodeRange part(std::size_t index) const { return {part_begin(index), part_begin(index + 1)}; }

  /// May be empty: parts differ by an element or so.
  NodeRange chunk(std::uint64_t chunk) const {
    const NodeRange all = part(part_of(chunk));
    const std::size_t begin = std::min(all.end, all.begin + static_cast<std::size_t>(chunk / parts_) * chunk_);
    return {begin, std::min(all.end, begin + chunk_)};
  }

  /// The slice of `chunk` that a member reduces; whole cache lines as far as elements permit.
  NodeRange slice(const NodeRange& chunk, std::uint32_t member) const {
    const std::size_t all = chunk.size() / element_;
    const std::size_t each = ((all + members_ - 1) / members_ + granule_ - 1) / granule_ * granule_;
    const std::size_t first = std::min(all, member * each), last = std::min(all, first + each);
    return {chunk.begin + first * element_, chunk.begin + last * element_};
  }

  /// How far the vector is done from its beginning when the first `chunks` chunks are.
  std::size_t done_up_to(std::uint64_t chunks) const {
    for (std::size_t i = 0; i < parts_; ++i) {
      const std::uint64_t rounds = (chunks + parts_ - 1 - i) / parts_;
      const NodeRange all = part(i);
      const std::size_t done = std::min(all.size(), static_cast<std::size_t>(rounds) * chunk_);
      if (done < all.size()) return all.begin + done;
    }
    return count_ * element_;
  }

 private:
  static constexpr std::size_t kAlign = 64;

  /// The first count % parts parts have one element more.
  std::size_t part_begin(std::size_t index) const {
    return (count_ / parts_ * index + std::min(index, count_ % parts_)) * element_;
  }

  std::size_t count_ = 0, element_ = 1, chunk_ = 1;
  std::uint32_t members_ = 1;
  std::size_t parts_ = 1, granule_ = 1, rounds_ = 0;
};

}  // namespace nezha
