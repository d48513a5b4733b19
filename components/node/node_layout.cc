// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_layout.h"

#include <algorithm>

namespace nezha {

NodeLayout::NodeLayout(std::uint32_t members, std::size_t chunk)
    : members_(members),
      chunk_((std::clamp(chunk, kLeastNodeChunk, kMostNodeChunk) + kPage - 1) / kPage * kPage),
      stride_(kSlots + kPage + 3 * kNodeDepth * chunk_) {}

std::size_t NodeLayout::usual_chunk(std::uint32_t members) {
  constexpr std::size_t kUsual = 128 * 1024, kSlice = 4 * 1024;
  return std::clamp(members * kSlice, kUsual, kMostNodeChunk);
}

}  // namespace nezha
