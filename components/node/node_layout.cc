// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_layout.h"

#include <algorithm>

namespace nezha {

NodeTrackLayout::NodeTrackLayout(std::size_t begin, std::uint32_t members, std::size_t chunk)
    : begin_(begin),
      members_(members),
      chunk_((std::max(chunk, kLeastNodeChunk) + kPage - 1) / kPage * kPage),
      stride_(kSlots + kPage + 3 * kNodeDepth * chunk_) {}

NodeLayout::NodeLayout(std::uint32_t members, std::size_t chunk) : members_(members) {
  std::size_t begin = (member(members) + kPage - 1) / kPage * kPage;
  std::size_t most = kMostNodeChunk;
  for (NodeTrackLayout& track : tracks_) {
    track = NodeTrackLayout(begin, members, std::min(chunk, most));
    begin = track.end();
    most = kMostLaterChunk;
  }
}

std::size_t NodeLayout::usual_chunk(std::uint32_t members) {
  constexpr std::size_t kUsual = 128 * 1024, kSlice = 4 * 1024;
  return std::clamp(members * kSlice, kUsual, kMostNodeChunk);
}

}  // namespace nezha
