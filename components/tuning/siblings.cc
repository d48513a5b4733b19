// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/siblings.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>

namespace nezha {
namespace {

// Whole numbers, so that the same comes out on all ranks whatever their processors.
constexpr std::uint64_t kHop = 25000;     ///< ns from one process into the other over sockets
constexpr std::uint64_t kMessage = 6000;  ///< ns that a rank is busy with sending and receiving one message
constexpr std::uint64_t kByte = 4;        ///< ns, of a rank's rails together

constexpr std::size_t kSmallestChunk = 16 * 1024;
constexpr std::size_t kLargestChunk = 128 * 1024;
/// A chain is as long in chunks as in ranks, and a vector should be much longer than that.
constexpr std::size_t kLargestOfChain = 64 * 1024;
constexpr std::size_t kChunksOfChain = 64;

constexpr AlgorithmChoice kOwn[] = {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::halving};
/// Larger vectors go from the root, or to it, along a chain, which sends them once.
constexpr std::size_t kMostStraight = std::size_t{1} * 1024 * 1024;

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

/// The sums have another order than the ring's, and the plan pins that order.
bool other_bits(const Plan& plan, Collective collective, AlgorithmChoice algorithm) {
  const bool reduces = collective == Collective::reduce || collective == Collective::reduce_scatter;
  const bool other = algorithm == AlgorithmChoice::halving || algorithm == AlgorithmChoice::incumbent;
  return plan.reproducible && reduces && other;
}

AlgorithmChoice cheapest_rooted(const Plan& plan, std::size_t bytes, int size, bool halves) {
  const auto cost = [&](AlgorithmChoice algorithm) {
    return rooted_cost(algorithm, bytes, static_cast<std::uint64_t>(size));
  };
  AlgorithmChoice best = AlgorithmChoice::ring;
  if (halves && cost(AlgorithmChoice::halving) <= cost(best)) best = AlgorithmChoice::halving;
  if (plan.meshes(size) && cost(AlgorithmChoice::mesh) <= cost(best)) best = AlgorithmChoice::mesh;
  return best;
}

/// All send equally many bytes: small blocks go the way with the fewest hops and messages, large ones round the ring.
AlgorithmChoice cheapest_of_all(const Plan& plan, std::size_t bytes, int size, bool halves) {
  const auto ranks = static_cast<std::uint64_t>(size);
  if (bytes / ranks > plan.mesh_block) return AlgorithmChoice::ring;
  const auto depth = static_cast<std::uint64_t>(std::bit_width(ranks - 1));
  const bool tree = depth * (kHop + kMessage) < kHop + (ranks - 1) * kMessage;
  if (halves && (tree || !plan.meshes(size))) return AlgorithmChoice::halving;
  return plan.meshes(size) ? AlgorithmChoice::mesh : AlgorithmChoice::ring;
}

}  // namespace

AlgorithmChoice sibling_choice(const Plan& plan, Collective collective, std::size_t bytes, std::size_t element,
                               int size) {
  if (plan.algorithm == AlgorithmChoice::incumbent || element > kMostElement) return AlgorithmChoice::incumbent;
  if (collective != Collective::barrier && bytes < plan.threshold) return AlgorithmChoice::incumbent;
  if (size == 1) return AlgorithmChoice::memory;
  for (const AlgorithmChoice named : kOwn)
    if (plan.algorithm == named) return named;
  const bool halves = !other_bits(plan, collective, AlgorithmChoice::halving);
  return has_root(collective) ? cheapest_rooted(plan, bytes, size, halves) : cheapest_of_all(plan, bytes, size, halves);
}

std::size_t sibling_chunk(const Plan& plan, Collective collective, const Candidate& way, std::size_t bytes,
                          std::size_t element, int size) {
  const std::size_t wanted = plan.chunk != 0 ? plan.chunk : chunk_for(way.algorithm, has_root(collective), bytes, size);
  return std::max<std::size_t>(wanted / element, 1) * element;
}

bool sibling_possible(const Candidate& candidate, std::size_t size_class, const Terms& terms) {
  const std::size_t largest = (std::size_t{2} << size_class) - 1;
  const bool ours = std::find(std::begin(kOwn), std::end(kOwn), candidate.algorithm) != std::end(kOwn);
  if (!ours && candidate.algorithm != AlgorithmChoice::incumbent) return false;
  if (needs_all_lanes(candidate.algorithm) && !terms.plan.meshes(terms.senders())) return false;
  if (other_bits(terms.plan, terms.collective, candidate.algorithm)) return false;
  if (!ours || candidate.algorithm == AlgorithmChoice::ring) return true;
  if (terms.collective == Collective::reduce_scatter) return largest <= kMostMesh;
  return !has_root(terms.collective) || largest <= kMostStraight;
}

double sibling_traffic(const Candidate& candidate, const Terms& terms) {
  const auto ranks = static_cast<unsigned>(terms.senders());
  if (!has_root(terms.collective)) return static_cast<double>(ranks - 1) / ranks;
  if (candidate.algorithm == AlgorithmChoice::mesh) return ranks - 1;
  return candidate.algorithm == AlgorithmChoice::halving ? std::bit_width(ranks - 1) : 1;
}

std::vector<Candidate> sibling_candidates(std::size_t size_class, const Terms& terms) {
  const std::size_t bytes = std::size_t{1} << size_class;
  std::vector<Candidate> found{{sibling_choice(terms.plan, terms.collective, bytes, 1, terms.senders())}};
  if (!possible(found.front(), size_class, terms)) found.front().algorithm = AlgorithmChoice::ring;
  if (terms.plan.algorithm != AlgorithmChoice::automatic) return found;
  for (const AlgorithmChoice other :
       {AlgorithmChoice::incumbent, AlgorithmChoice::ring, AlgorithmChoice::halving, AlgorithmChoice::mesh})
    if (other != found.front().algorithm && possible({other}, size_class, terms)) found.push_back({other});
  return found;
}

}  // namespace nezha
