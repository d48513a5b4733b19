// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/cost.h"

#include <bit>
#include <limits>

namespace nezha {
namespace {

constexpr double kHop = 25000;     ///< ns from one process into the other over sockets
constexpr double kMessage = 6000;  ///< ns that a rank is busy with sending and receiving one message

struct Counts {
  double hops;      ///< one after the other
  double messages;  ///< that one rank sends
  double vectors;   ///< that one rank sends, as multiples of the vector
};

Counts counts(AlgorithmChoice algorithm, double n) {
  const auto ranks = static_cast<unsigned>(n);
  const double log = std::bit_width(ranks) - 1;
  const bool whole = std::has_single_bit(ranks);
  const double steps = log + (whole ? 0 : 1);
  const double twice = 2 * (n - 1) / n;
  switch (algorithm) {
    case AlgorithmChoice::single_step:
      return {1, n - 1, n - 1};
    case AlgorithmChoice::doubling:
      return {log + (whole ? 0 : 2), log + (whole ? 0 : 1), log + (whole ? 0 : 1)};
    case AlgorithmChoice::mesh:
      return {2, 2 * (n - 1), twice};
    case AlgorithmChoice::ring:
      return {2 * (n - 1), 2 * (n - 1), twice};
    case AlgorithmChoice::halving:
      return {2 * steps, 2 * steps, twice};
    default:
      return {std::numeric_limits<double>::infinity(), 0, 0};
  }
}

}  // namespace

double cost(AlgorithmChoice algorithm, std::size_t bytes, int ranks, double rate) {
  const Counts of = counts(algorithm, ranks);
  return of.hops * kHop + of.messages * kMessage + of.vectors * static_cast<double>(bytes) / rate;
}

double least_cost(std::size_t bytes, int ranks, double rate) {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / rate;
}

}  // namespace nezha
