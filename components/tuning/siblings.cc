// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/siblings.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace nezha {
namespace {

// Whole numbers, so that the same comes out on all ranks whatever their processors.
constexpr std::uint64_t kHop = 25000;    ///< ns from one process into the other over sockets
constexpr std::uint64_t kMessage = 6000; ///< ns that a rank is busy with sending and receiving one message
constexpr std::uint64_t kByte = 4;       ///< ns, of a rank's rails together

constexpr std::size_t kSmallestChunk = 16 * 1024;
constexpr std::size_t kLargestChunk = 128 * 1024;
/// A chain is as long in chunks as in ranks, and a vector should be much longer than that.
constexpr std::size_t kLargestOfChain = 64 * 1024;
constexpr std::size_t kChunksOfChain = 64;

bool rooted(Collective collective) { return collective == Collective::broadcast || collective == Collective::reduce; }

std::size_t chunk_for(AlgorithmChoice algorithm, bool chain, std::size_t bytes, int size) {
  if (algorithm == AlgorithmChoice::mesh) return kLargestChunk;
  if (chain) return std::clamp(bytes / kChunksOfChain, kSmallestChunk, kLargestOfChain);
  return std::clamp(bytes / static_cast<std::size_t>(size) / 2, kSmallestChunk, kLargestChunk);
}

/// Nanoseconds from the root to the last rank, or back: straight, down a tree, or along a chain.
std::uint64_t rooted_cost(AlgorithmChoice algorithm, std::uint64_t bytes, std::uint64_t ranks) {
  const auto depth = static_cast<std::uint64_t>(std::bit_width(ranks - 1));
  switch (algorithm) {
    case AlgorithmChoice::mesh:
      return kHop + (ranks - 1) * (kMessage + bytes * kByte);
    case AlgorithmChoice::halving:
      return depth * (kHop + kMessage + bytes * kByte);
    default:
      break;
  }
  const std::uint64_t chunk = std::min<std::uint64_t>(bytes, chunk_for(AlgorithmChoice::ring, true, bytes, 0));
  return (ranks - 1) * (kHop + kMessage) + (bytes + (ranks - 2) * chunk) * kByte;
}

AlgorithmChoice cheapest_rooted(const Plan& plan, std::size_t bytes, int size) {
  const auto cost = [&](AlgorithmChoice algorithm) {
    return rooted_cost(algorithm, bytes, static_cast<std::uint64_t>(size));
  };
  AlgorithmChoice best = plan.meshes(size) ? AlgorithmChoice::mesh : AlgorithmChoice::halving;
  for (const AlgorithmChoice other : {AlgorithmChoice::halving, AlgorithmChoice::ring})
    if (cost(other) < cost(best)) best = other;
  return best;
}

/// All send equally many bytes: small blocks go the way with the fewest hops and messages, large ones round the ring.
AlgorithmChoice cheapest_of_all(const Plan& plan, std::size_t bytes, int size) {
  const auto ranks = static_cast<std::uint64_t>(size);
  if (bytes / ranks > plan.mesh_block) return AlgorithmChoice::ring;
  const auto depth = static_cast<std::uint64_t>(std::bit_width(ranks - 1));
  const bool tree = depth * (kHop + kMessage) < kHop + (ranks - 1) * kMessage;
  return tree || !plan.meshes(size) ? AlgorithmChoice::halving : AlgorithmChoice::mesh;
}

AlgorithmChoice choose(const Plan& plan, Collective collective, std::size_t bytes, std::size_t element, int size) {
  if (plan.algorithm == AlgorithmChoice::incumbent || element > kMostElement) return AlgorithmChoice::incumbent;
  for (const AlgorithmChoice named : {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::halving})
    if (plan.algorithm == named) return named;
  return rooted(collective) ? cheapest_rooted(plan, bytes, size) : cheapest_of_all(plan, bytes, size);
}

}  // namespace

Candidate sibling_way(const Plan& plan, Collective collective, std::size_t bytes, std::size_t element, int size) {
  Candidate way;
  way.algorithm = choose(plan, collective, bytes, element, size);
  const std::size_t wanted = plan.chunk != 0 ? plan.chunk : chunk_for(way.algorithm, rooted(collective), bytes, size);
  way.chunk = static_cast<std::uint32_t>(std::max<std::size_t>(wanted / element, 1) * element);
  return way;
}

}  // namespace nezha
