// SPDX-License-Identifier: BSD-3-Clause
/// The table of algorithms.
#include "alg/algorithm.h"

#include <algorithm>

namespace nezha {
namespace {

struct Row {
  AlgorithmChoice choice;
  std::unique_ptr<Algorithm> (*make)(const TeamView&);
};

constexpr Row kAlgorithms[] = {
    {AlgorithmChoice::ring, make_ring},
    {AlgorithmChoice::mesh, make_mesh},
    {AlgorithmChoice::single_step, make_single_step},
    {AlgorithmChoice::doubling, make_doubling},
    {AlgorithmChoice::halving, make_halving},
};

}  // namespace

AlgorithmChoice affordable(AlgorithmChoice choice, const Call& call, int size) {
  if (!call.reduces() || call.collective == Collective::allreduce) return choice;
  const std::size_t largest = call.rooted() ? call.count : *std::max_element(call.counts, call.counts + size);
  const std::size_t most = std::max(kMostMesh, 2 * call.bytes());
  return largest * call.element > most / static_cast<std::size_t>(size) ? AlgorithmChoice::ring : choice;
}

std::unique_ptr<Algorithm> make_algorithm(AlgorithmChoice choice, const TeamView& team) {
  for (const Row& row : kAlgorithms)
    if (row.choice == choice) return row.make(team);
  return nullptr;
}

}  // namespace nezha
