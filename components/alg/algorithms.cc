// SPDX-License-Identifier: BSD-3-Clause
/// The table of algorithms.
#include "alg/algorithm.h"

#include <algorithm>

#include "alg/neighbours.h"

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

/// Bytes that may wait for their turn in halving: in each step blocks of those below, of no more than the vector.
std::size_t halving_waits(std::size_t bytes, std::size_t largest, int size) {
  std::size_t sum = 0;
  int reach = size;
  for (const int distance : halved_distances(size)) {
    sum += std::min(bytes, static_cast<std::size_t>(reach / 2) * largest);
    reach = distance;
  }
  return sum;
}

}  // namespace

AlgorithmChoice affordable(AlgorithmChoice choice, const Call& call, int size) {
  if (!call.reduces() || call.collective == Collective::allreduce) return choice;
  const std::size_t largest =
      (call.rooted() ? call.count : *std::max_element(call.counts, call.counts + size)) * call.element;
  const std::size_t most = std::max(kMostMesh, 2 * call.bytes());
  if (largest <= most / static_cast<std::size_t>(size)) return choice;
  return choice == AlgorithmChoice::halving && halving_waits(call.bytes(), largest, size) <= most ? choice : AlgorithmChoice::ring;
}

std::unique_ptr<Algorithm> make_algorithm(AlgorithmChoice choice, const TeamView& team) {
  for (const Row& row : kAlgorithms)
    if (row.choice == choice) return row.make(team);
  return nullptr;
}

}  // namespace nezha
