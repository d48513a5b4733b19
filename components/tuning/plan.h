// SPDX-License-Identifier: BSD-3-Clause
/// What the ranks of a team have agreed on: rank 0's parameters that decide, and what follows from them for a size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tuning/candidate.h"
#include "util/params.h"

namespace nezha {

/// An element larger than this does not fit the way pieces are cut.
constexpr std::size_t kMostElement = 64 * 1024;

/// Everybody exchanges with everybody.
bool needs_all_lanes(AlgorithmChoice algorithm);

/// What has the fewest steps for vectors that are small enough to be sent whole.
AlgorithmChoice fewest_steps(int size);

/// The parameters that decide, as numbers. Fixed positions: this is what travels in the agreement.
struct Plan {
  AlgorithmChoice algorithm = AlgorithmChoice::automatic;
  std::uint64_t threshold = 0;
  std::uint64_t small_max = 0;
  std::uint64_t mesh_block = 0;
  std::uint64_t mesh_peers = 0;
  std::uint64_t chunk = 0;
  bool reproducible = false;
  bool learn = false;
  std::uint64_t incumbent_margin = 0;  ///< per cent
  bool shared_memory = false;
  bool aggregators = false;  ///< there are some
  AggregatorShare aggregator_share;
  bool sharp = false;
  bool strict_persistent_order = false;

  static constexpr std::size_t kWords = 9;
  bool operator==(const Plan&) const = default;
  static Plan from(const Config& config);
  void encode(std::span<std::uint64_t, kWords> words) const;
  static Plan decode(std::span<const std::uint64_t, kWords> words);

  /// Whether results are the same bits in every run from a communicator's first call on, so that none may use the
  /// incumbent.
  bool pins_bits() const;
  /// Among `size` ranks everybody has lanes to everybody, as the mesh and the single-step mesh need them.
  bool meshes(int size) const;
  /// Whether the incumbent carries the call whatever is learned: the user says so, or the elements are too large.
  bool leaves(std::size_t bytes, std::size_t element) const;
  /// The algorithm for a vector of `bytes` in elements of `element` among `size` ranks before anything was measured;
  /// never automatic. `size` 1: all ranks share memory, and none sends.
  AlgorithmChoice choose(std::size_t bytes, std::size_t element, int size) const;
  /// Bytes of a chunk, a multiple of `element`.
  std::size_t chunk_for(const Candidate& way, std::size_t bytes, std::size_t element, int size) const;
};

/// Which parameters `own` and `first`, that of rank 0, differ in, and their values: a line each, indented as in a help text.
std::string differences(const Plan& own, const Plan& first);

}  // namespace nezha
