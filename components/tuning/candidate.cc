// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/candidate.h"

#include <array>

#include "util/text.h"

namespace nezha {
namespace {

constexpr std::array kNames = {"auto", "ring", "mesh", "single_step", "doubling", "halving", "incumbent", "memory"};
static_assert(kNames.size() == static_cast<std::size_t>(AlgorithmChoice::memory) + 1);
constexpr unsigned kChunkBits = 32, kAlgorithmBits = 8;
constexpr unsigned kSetBits = 8 * sizeof(RailSet), kCarrierBits = 7;
static_assert(kChunkBits + kAlgorithmBits + kSetBits + 1 + kCarrierBits == 64 && kMostCarriers < 1u << kCarrierBits);

}  // namespace

std::uint64_t encode(const Candidate& candidate) {
  const std::uint64_t one = (std::uint64_t{candidate.carriers} << 1 | std::uint64_t{candidate.one_rail}) << kSetBits;
  return ((one | candidate.rails) << kAlgorithmBits | static_cast<std::uint64_t>(candidate.algorithm)) << kChunkBits | candidate.chunk;
}

std::optional<Candidate> decode_candidate(std::uint64_t word) {
  const std::uint64_t rails = word >> (kChunkBits + kAlgorithmBits);
  const std::uint64_t algorithm = word >> kChunkBits & ((1u << kAlgorithmBits) - 1);
  const bool one = (rails >> kSetBits & 1) != 0;
  const std::uint64_t carriers = rails >> (kSetBits + 1);
  const auto set = static_cast<RailSet>(rails);
  if (algorithm == 0 || algorithm >= kNames.size() || carriers > kMostCarriers || (one && set != 0)) return std::nullopt;
  return Candidate{static_cast<AlgorithmChoice>(algorithm), static_cast<std::uint32_t>(word), one, set, static_cast<std::uint8_t>(carriers)};
}

const char* name_of(AlgorithmChoice algorithm) { return kNames[static_cast<std::size_t>(algorithm)]; }

std::string text_of(const Candidate& candidate, const RailNames& names) {
  std::string text = name_of(candidate.algorithm);
  if (candidate.one_rail) text += " on one rail";
  if (candidate.rails != 0) text += " on " + text_of(candidate.rails, names);
  if (candidate.chunk != 0) text += " in chunks of " + size_text(candidate.chunk);
  if (candidate.carriers != 0)
    text += " by " + std::to_string(candidate.carriers) + (candidate.carriers == 1 ? " rank" : " ranks") + " of each node";
  return text;
}

}  // namespace nezha
