// SPDX-License-Identifier: BSD-3-Clause
/// One collective beside allreduce by all ranks of a cluster, and what comes out of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "cluster.h"

namespace nezha::test {

using Floats = std::vector<float>;
using Counts = std::vector<std::size_t>;

inline constexpr AlgorithmChoice kAlgorithms[] = {AlgorithmChoice::ring, AlgorithmChoice::mesh,
                                                  AlgorithmChoice::halving};
inline constexpr float kUntouched = -7.25f;

/// Sums of these depend on the order.
inline std::vector<Floats> hostile(std::size_t ranks, std::size_t count, std::uint64_t seed) {
  constexpr float kValues[] = {1e30f, -1e30f, 1e-42f, 3e38f, -3e38f, 1.0f, -0.0f, 16777217.0f, 1e-7f, 0.1f};
  SimRandom random(seed);
  std::vector<Floats> vectors(ranks, Floats(count));
  for (Floats& vector : vectors)
    for (float& value : vector)
      value = kValues[random.below(std::size(kValues))] * static_cast<float>(1 + random.real());
  return vectors;
}

/// The contributions of all ranks to one element, from rank `first` upwards.
inline float folded(const std::vector<Floats>& sources, std::size_t at, std::size_t first) {
  volatile float sum = sources[first % sources.size()][at];
  for (std::size_t step = 1; step < sources.size(); ++step) sum = sum + sources[(first + step) % sources.size()][at];
  return sum;
}

/// What is a distance away is on the left: see halving.cc.
inline float halved(const std::vector<Floats>& sources, std::size_t at, std::size_t owner) {
  const std::size_t size = sources.size();
  Floats sums;
  for (std::size_t back = 0; back < size; ++back) sums.push_back(sources[(owner + size - back) % size][at]);
  while (sums.size() > 1) {
    const std::size_t distance = (sums.size() + 1) / 2;
    for (std::size_t i = 0; i + distance < sums.size(); ++i) {
      volatile float sum = sums[i + distance] + sums[i];
      sums[i] = sum;
    }
    sums.resize(distance);
  }
  return sums[0];
}

/// One collective of all ranks, and its memory.
struct Job {
  Collective collective;
  Counts counts;  ///< by rank
  int root = 0;
  bool in_place = false;
  std::vector<Floats> sources;
  std::vector<Floats> send, recv;
  std::vector<OpNumber> numbers;

  Job(Collective collective_, Counts counts_, int root_, bool in_place_, std::uint64_t seed)
      : collective(collective_), counts(std::move(counts_)), root(root_), in_place(in_place_) {
    sources = hostile(counts.size(), total(), seed);
    send = sources;
    recv.assign(counts.size(), {});
    numbers.assign(counts.size(), 0);
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      recv[rank].assign(std::max<std::size_t>(received(rank), 1), kUntouched);
      if (collective == Collective::allgather || collective == Collective::broadcast) {
        const auto begin = sources[rank].begin() + static_cast<std::ptrdiff_t>(first(rank));
        send[rank].assign(begin, begin + static_cast<std::ptrdiff_t>(block(rank)));
        if (place(rank))
          std::copy(send[rank].begin(), send[rank].end(),
                    recv[rank].begin() + static_cast<std::ptrdiff_t>(first(rank)));
      } else if (place(rank)) {
        recv[rank] = send[rank];
      }
    }
  }

  bool rooted() const { return collective == Collective::broadcast || collective == Collective::reduce; }
  bool gathers() const {
    return collective == Collective::allgather || collective == Collective::broadcast ||
           collective == Collective::allreduce;
  }
  std::size_t total() const { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }
  std::size_t block(std::size_t rank) const {
    return rooted() ? (static_cast<int>(rank) == root ? total() : 0) : counts[rank];
  }
  std::size_t first(std::size_t rank) const {
    return rooted()
               ? 0
               : std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
  }
  std::size_t received(std::size_t rank) const {
    if (gathers() || (place(rank) && block(rank) != 0)) return total();
    return block(rank);
  }
  bool place(std::size_t rank) const {
    if (collective == Collective::broadcast) return static_cast<int>(rank) == root;
    if (collective == Collective::reduce) return in_place && static_cast<int>(rank) == root;
    return in_place;
  }

  /// As that rank makes it, in chunks of so many elements.
  Call call(std::size_t rank, std::size_t chunk) {
    Call call;
    call.collective = collective;
    call.recv = reinterpret_cast<std::byte*>(recv[rank].data());
    call.send = reinterpret_cast<const std::byte*>(send[rank].data());
    if (place(rank)) call.send = call.recv + (collective == Collective::allgather ? first(rank) * sizeof(float) : 0);
    call.count = collective == Collective::barrier ? 1 : total();
    call.counts = counts.data();
    call.root = root;
    call.element = sizeof(float);
    call.chunk = chunk * sizeof(float);
    call.reducer = {find_kernel(NEZHA_FLOAT, NEZHA_SUM), nullptr, nullptr, nullptr, sizeof(float)};
    return call;
  }
  void begin(Cluster& cluster, std::size_t rank, AlgorithmChoice algorithm, std::size_t chunk) {
    numbers[rank] = cluster.core(rank).start(cluster.team(rank), call(rank, chunk), algorithm);
  }

  float expected(std::size_t at, AlgorithmChoice algorithm) const {
    std::size_t owner = 0;
    while (at >= first(owner) + block(owner)) ++owner;
    if (collective == Collective::allgather || collective == Collective::broadcast) return sources[owner][at];
    return algorithm == AlgorithmChoice::halving ? halved(sources, at, owner) : folded(sources, at, owner + 1);
  }

  ::testing::AssertionResult right(AlgorithmChoice algorithm) const {
    for (std::size_t rank = 0; collective != Collective::barrier && rank < counts.size(); ++rank) {
      const std::size_t begin = gathers() ? 0 : first(rank), count = gathers() ? total() : block(rank);
      for (std::size_t i = 0; i < count; ++i) {
        const float wanted = expected(begin + i, algorithm);
        if (std::memcmp(&wanted, &recv[rank][i], sizeof(float)) != 0)
          return ::testing::AssertionFailure()
                 << "rank " << rank << " has " << recv[rank][i] << " instead of " << wanted << " at " << i;
      }
      if (count == 0 && !place(rank) && recv[rank][0] != kUntouched)
        return ::testing::AssertionFailure() << "rank " << rank << " was written to";
    }
    return ::testing::AssertionSuccess();
  }
};

/// By rank: even, uneven with empty ones, all of one, fewer than ranks.
inline std::vector<Counts> some_counts(std::size_t ranks) {
  std::vector<Counts> all{Counts(ranks, 700), Counts(ranks, 0), Counts(ranks, 0), Counts(ranks, 1)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all[1][rank] = rank % 3 == 1 ? 0 : 200 * rank + 13;
    if (rank == ranks - 1) all[2][rank] = 5001;
    if (rank > ranks / 2) all[3][rank] = 0;
  }
  return all;
}

}  // namespace nezha::test
