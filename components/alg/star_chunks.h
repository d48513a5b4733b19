// SPDX-License-Identifier: BSD-3-Clause
/// What aggregators send and count alike, each in its own place of a tree (star.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alg/call.h"
#include "alg/star_cover.h"
#include "alg/star_layout.h"

namespace nezha {

/// Counts a piece of a chunk that has come. False: something of it had come before.
inline bool count_piece(StarCover& cover, std::size_t index, std::uint32_t& got, const PieceHeader& piece,
                        const StarLayout::Chunk& chunk) {
  if (!cover.add(index, piece.offset - chunk.begin, piece.length, chunk.size)) return false;
  got += piece.length;
  return true;
}

/// The final sum, down.
inline ReadyChunk final_sum(const StarLayout::Chunk& chunk, const std::byte* data) {
  return {.data = data, .offset = chunk.begin, .size = static_cast<std::uint32_t>(chunk.size), .step = kStarSum, .hops = 1};
}

/// The sum of the first `have` contributions, from a rack or to the one that has the next.
inline ReadyChunk partial_sum(const StarLayout::Chunk& chunk, const std::byte* data, int have) {
  return {.data = data,
          .offset = chunk.begin,
          .size = static_cast<std::uint32_t>(chunk.size),
          .step = static_cast<std::uint16_t>(kStarPartial + have),
          .hops = 2};
}

/// The description of an operation, back to all clients of an aggregator.
class StarAnswer {
 public:
  /// `hops`: more than those of the sums, which go behind it.
  void send(const TeamView& team, const Call& call, std::uint16_t hops) {
    words_ = write_description({call.star, call.count, static_cast<std::uint32_t>(call.chunk), call.part});
    for (int to = 0; to < team.size - 1; ++to)
      team.send(to, {.data = words_.data(), .size = kStarDescriptionSize, .step = kStarAnswer, .hops = hops, .copied = true});
  }

 private:
  std::array<std::byte, kStarDescriptionSize> words_{};
};

}  // namespace nezha
