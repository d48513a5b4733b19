// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/plan.h"

#include <algorithm>

#include "util/text.h"

namespace nezha {
namespace {

constexpr std::size_t kSmallestChunk = 16 * 1024;
constexpr std::size_t kLargestChunk = 128 * 1024;
/// So many chunks of a block, so that a step overlaps the next. More of them cost more frames and switches than they
/// gain: it is the trunk that shares a chunk out among lanes.
constexpr std::size_t kChunks = 2;

/// Among so many every algorithm's neighbours are all.
constexpr int kFew = 3;

constexpr std::uint64_t kReproducible = 1;
constexpr std::uint64_t kLearn = 2;
constexpr std::uint64_t kSharedMemory = 4;
constexpr std::uint64_t kAggregators = 8;
constexpr std::uint64_t kSharp = 16;
constexpr std::uint64_t kStrictOrder = 32;

}  // namespace

bool needs_all_lanes(AlgorithmChoice algorithm) {
  return algorithm == AlgorithmChoice::mesh || algorithm == AlgorithmChoice::single_step;
}

AlgorithmChoice fewest_steps(int size) {
  // With three ranks the single-step mesh sends no more than doubling.
  return size <= kFew ? AlgorithmChoice::single_step : AlgorithmChoice::doubling;
}

Plan Plan::from(const Config& config) {
  Plan plan;
  plan.algorithm = config.algorithm;
  plan.threshold = config.threshold;
  plan.small_max = config.small_max;
  plan.mesh_block = config.mesh_block;
  plan.mesh_peers = static_cast<std::uint64_t>(config.mesh_peers);
  plan.chunk = config.chunk;
  plan.reproducible = config.reproducible;
  plan.learn = config.learn;
  plan.incumbent_margin = static_cast<std::uint64_t>(config.incumbent_margin);
  plan.shared_memory = config.shared_memory;
  plan.aggregators = !config.aggregators.empty();
  plan.aggregator_share = config.aggregator_share;
  plan.sharp = config.sharp;
  plan.strict_persistent_order = config.strict_persistent_order;
  return plan;
}

void Plan::encode(std::span<std::uint64_t, kWords> words) const {
  words[0] = static_cast<std::uint64_t>(algorithm);
  words[1] = threshold;
  words[2] = small_max;
  words[3] = mesh_block;
  words[4] = chunk;
  words[5] = (reproducible ? kReproducible : 0) | (learn ? kLearn : 0) | (shared_memory ? kSharedMemory : 0) |
             (aggregators ? kAggregators : 0) | (sharp ? kSharp : 0) |
             (strict_persistent_order ? kStrictOrder : 0);
  words[6] = incumbent_margin;
  words[7] = static_cast<std::uint64_t>(static_cast<std::int64_t>(aggregator_share.per_cent));
  words[8] = mesh_peers;
}

Plan Plan::decode(std::span<const std::uint64_t, kWords> words) {
  Plan plan;
  plan.algorithm = static_cast<AlgorithmChoice>(words[0]);
  plan.threshold = words[1];
  plan.small_max = words[2];
  plan.mesh_block = words[3];
  plan.chunk = words[4];
  plan.reproducible = (words[5] & kReproducible) != 0;
  plan.learn = (words[5] & kLearn) != 0;
  plan.incumbent_margin = words[6];
  plan.mesh_peers = words[8];
  plan.shared_memory = (words[5] & kSharedMemory) != 0;
  plan.aggregators = (words[5] & kAggregators) != 0;
  plan.sharp = (words[5] & kSharp) != 0;
  plan.strict_persistent_order = (words[5] & kStrictOrder) != 0;
  plan.aggregator_share.per_cent = static_cast<int>(static_cast<std::int64_t>(words[7]));
  return plan;
}

bool Plan::pins_bits() const {
  if (algorithm == AlgorithmChoice::incumbent) return false;
  return reproducible || algorithm != AlgorithmChoice::automatic;
}

bool Plan::meshes(int size) const {
  return size <= kFew || static_cast<std::uint64_t>(size) <= mesh_peers + 1 || needs_all_lanes(algorithm);
}

bool Plan::leaves(std::size_t bytes, std::size_t element) const {
  return algorithm == AlgorithmChoice::incumbent || element > kMostElement || bytes < threshold;
}

AlgorithmChoice Plan::choose(std::size_t bytes, std::size_t element, int size) const {
  if (leaves(bytes, element)) return AlgorithmChoice::incumbent;
  if (size == 1) return AlgorithmChoice::memory;
  const bool small = bytes <= kMostCopied;
  switch (algorithm) {
    case AlgorithmChoice::ring:
    case AlgorithmChoice::mesh:
    case AlgorithmChoice::halving:
      return algorithm;
    case AlgorithmChoice::single_step:
    case AlgorithmChoice::doubling:
      return small ? algorithm : AlgorithmChoice::ring;
    default:
      break;
  }
  if (bytes <= small_max && small) {
    // The single-step mesh has the ring's bits, whatever the size.
    return reproducible && meshes(size) ? AlgorithmChoice::single_step : fewest_steps(size);
  }
  const std::size_t block = bytes / static_cast<std::size_t>(size);
  if (block > mesh_block) return AlgorithmChoice::ring;
  if (meshes(size)) return AlgorithmChoice::mesh;
  return reproducible ? AlgorithmChoice::ring : AlgorithmChoice::halving;
}

std::size_t Plan::chunk_for(const Candidate& way, std::size_t bytes, std::size_t element, int size) const {
  const std::size_t block = bytes / static_cast<std::size_t>(size);
  std::size_t wanted = chunk != 0 ? chunk : way.chunk;
  if (wanted == 0 && way.algorithm == AlgorithmChoice::mesh) wanted = kLargestChunk;
  if (wanted == 0) wanted = std::clamp(block / kChunks, kSmallestChunk, kLargestChunk);
  return std::max<std::size_t>(wanted / element, 1) * element;
}

std::string differences(const Plan& own, const Plan& first) {
  std::string text;
  const auto compare = [&](const char* name, const std::string& here, const std::string& there) {
    if (here != there) text += std::string(text.empty() ? "" : "\n") + "  coll_nezha_" + name + ": " + here + ", rank 0 has " + there;
  };
  const auto size = [](std::uint64_t bytes) { return size_text(static_cast<long long>(bytes)); };
  const auto yes_no = [](bool value) { return std::string(value ? "1" : "0"); };
  compare("algorithm", name_of(own.algorithm), name_of(first.algorithm));
  compare("threshold", size(own.threshold), size(first.threshold));
  compare("small_max", size(own.small_max), size(first.small_max));
  compare("mesh_block", size(own.mesh_block), size(first.mesh_block));
  compare("mesh_peers", std::to_string(own.mesh_peers), std::to_string(first.mesh_peers));
  compare("chunk", size(own.chunk), size(first.chunk));
  compare("reproducible", yes_no(own.reproducible), yes_no(first.reproducible));
  compare("shared_memory", yes_no(own.shared_memory), yes_no(first.shared_memory));
  compare("learn", yes_no(own.learn), yes_no(first.learn));
  compare("aggregators", own.aggregators ? "some" : "none", first.aggregators ? "some" : "none");
  const auto share = [](AggregatorShare of) { return of.per_cent < 0 ? std::string("auto") : std::to_string(of.per_cent); };
  compare("aggregator_share", share(own.aggregator_share), share(first.aggregator_share));
  compare("sharp", yes_no(own.sharp), yes_no(first.sharp));
  compare("strict_persistent_order", yes_no(own.strict_persistent_order), yes_no(first.strict_persistent_order));
  compare("incumbent_margin", std::to_string(own.incumbent_margin), std::to_string(first.incumbent_margin));
  return text;
}

}  // namespace nezha
