// SPDX-License-Identifier: BSD-3-Clause
#include "engine/memory.h"

#include <algorithm>
#include <bit>

#include "util/params.h"

namespace nezha {
namespace {

constexpr std::size_t kAllPeers = 32 * 1024 * 1024;
constexpr std::size_t kOnePeer = 2 * 1024 * 1024;
constexpr std::size_t kLeastRetransmits = 2 * kMostCopied + 4096;  ///< a small operation's pieces, twice
constexpr std::size_t kLeastWindow = 16 * 1024;
constexpr std::size_t kMostWindow = 256 * 1024;
constexpr std::size_t kLeastLane = 64 * 1024;
constexpr std::size_t kMostLane = 512 * 1024;

/// Beyond the fewest it counts them in powers of two, so that what it comes to is not another one with each of them.
std::size_t peer_memory(std::size_t peers) { return std::min(kOnePeer, kAllPeers / std::bit_ceil(peers)); }

}  // namespace

std::size_t retransmit_memory(std::size_t peers) { return std::max(peer_memory(peers) / 4, kLeastRetransmits); }

std::size_t early_window(std::size_t peers) { return std::clamp(peer_memory(peers) / 5, kLeastWindow, kMostWindow); }

std::size_t lane_memory(std::size_t peers, std::size_t lanes) {
  return std::clamp(peer_memory(peers) / 2 / lanes, kLeastLane, kMostLane);
}

}  // namespace nezha
