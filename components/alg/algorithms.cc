// SPDX-License-Identifier: BSD-3-Clause
/// The table of algorithms.
#include "alg/algorithm.h"

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

std::unique_ptr<Algorithm> make_algorithm(AlgorithmChoice choice, const TeamView& team) {
  for (const Row& row : kAlgorithms)
    if (row.choice == choice) return row.make(team);
  return nullptr;
}

}  // namespace nezha
