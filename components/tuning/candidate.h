// SPDX-License-Identifier: BSD-3-Clause
/// One way to carry the calls of a size class. Shares of rails are not in it, for only a sender needs to know them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuning/rail_names.h"
#include "util/params.h"

namespace nezha {

struct Candidate {
  AlgorithmChoice algorithm = AlgorithmChoice::incumbent;
  std::uint32_t chunk = 0;  ///< bytes; 0 = by the size of the vector
  bool one_rail = false;    ///< each sender keeps to its best rail as long as that lives
  RailSet rails = 0;        ///< or to these as long as any of them lives; 0 = to none in particular
  std::uint8_t carriers = 0;  ///< ranks of each node that carry between nodes, where those share memory; 0 = by the size of the vector

  bool operator==(const Candidate&) const = default;
};

constexpr std::uint8_t kMostCarriers = 64;

/// As one word that is never kNoWord, and back; none for a word that is no candidate.
constexpr std::uint64_t kNoWord = ~std::uint64_t{0};
std::uint64_t encode(const Candidate& candidate);
std::optional<Candidate> decode_candidate(std::uint64_t word);

/// The algorithm's word as the parameter knows it.
const char* name_of(AlgorithmChoice algorithm);
/// "ring", "ring on one rail", "ring on tcp/eth1", "ring in chunks of 64k", "ring by 1 rank of each node". `names`: of its rails.
std::string text_of(const Candidate& candidate, const RailNames& names);

}  // namespace nezha
