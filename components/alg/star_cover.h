// SPDX-License-Identifier: BSD-3-Clause
/// Which parts of chunks have come to an aggregator. A sender that sends one part twice and another one not at all is
/// refused: else what lies in the room for the other part, and may be left from another team's vectors, would go into a
/// sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alg/star.h"

namespace nezha {

/// One bit for each kStarGrain bytes.
class StarCover {
 public:
  /// Bytes that it takes for a chunk of `chunk` bytes.
  static constexpr std::size_t size(std::size_t chunk) { return words(chunk) * sizeof(std::uint64_t); }
  /// For so many chunks of at most `chunk` bytes each, of which nothing has come.
  void begin(std::size_t chunks, std::size_t chunk) {
    words_ = words(chunk);
    bits_.assign(chunks * words_, 0);
  }
  /// Of the chunks [first, first + count) nothing has come.
  void clear(std::size_t first, std::size_t count = 1) {
    const auto begin = bits_.begin() + static_cast<std::ptrdiff_t>(first * words_);
    std::fill(begin, begin + static_cast<std::ptrdiff_t>(count * words_), 0);
  }
  /// Nothing of that part of a chunk of `size` bytes has come, and it is cut as a sender has to cut it.
  bool lacks(std::size_t index, std::size_t offset, std::size_t length, std::size_t size) const {
    if (offset > size || length > size - offset) return false;
    if (offset % kStarGrain != 0 || ((offset + length) % kStarGrain != 0 && offset + length != size)) return false;
    bool any = false;
    each_word(index, offset, length,
              [&](std::size_t word, std::uint64_t bits) { any = any || (bits_[word] & bits) != 0; });
    return !any;
  }
  /// It has come. False: lacks() is.
  bool add(std::size_t index, std::size_t offset, std::size_t length, std::size_t size) {
    if (!lacks(index, offset, length, size)) return false;
    each_word(index, offset, length, [&](std::size_t word, std::uint64_t bits) { bits_[word] |= bits; });
    return true;
  }

 private:
  static constexpr std::size_t kWord = 64 * kStarGrain;  ///< bytes of a chunk

  static constexpr std::size_t words(std::size_t chunk) { return (chunk + kWord - 1) / kWord; }

  template <typename Each>
  void each_word(std::size_t index, std::size_t offset, std::size_t length, const Each& each) const {
    std::size_t bit = offset / kStarGrain;
    for (const std::size_t end = (offset + length + kStarGrain - 1) / kStarGrain; bit < end;) {
      const std::size_t within = bit % 64, count = std::min(end - bit, 64 - within);
      each(index * words_ + bit / 64, ~std::uint64_t{0} >> (64 - count) << within);
      bit += count;
    }
  }

  std::size_t words_ = 0;  ///< of each chunk
  std::vector<std::uint64_t> bits_;
};

}  // namespace nezha
