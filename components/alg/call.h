// SPDX-License-Identifier: BSD-3-Clause
/// One collective as an algorithm sees it.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include "alg/layout.h"
#include "alg/star.h"
#include "reduce/reducer.h"
#include "trunk/trunk.h"
#include "util/buffer_pool.h"
#include "util/collective.h"

namespace nezha {

/// Where vectors lie, by collective. "Vector": all `count` elements; "block": the part of the rank, which lies in the
/// vector behind those of the ranks before it.
///
///   collective      send               recv                               blocks
///   allreduce       vector             vector                             as the algorithm likes
///   reduce_scatter  vector             block; equal to send in place      `counts`
///   allgather       block              vector; in place: send in it       `counts`
///   broadcast       vector, the root   vector; equal to send at the root  the root's is the vector
///   reduce          vector             vector, the root                   the root's is the vector
///   barrier         -                  -                                  -
struct Call {
  Collective collective = Collective::allreduce;
  const std::byte* send = nullptr;  ///< equal to recv when in place
  std::byte* recv = nullptr;
  std::size_t count = 0;                ///< elements of the vector
  const std::size_t* counts = nullptr;  ///< elements of each rank's block, until the operation has begun
  int root = 0;                         ///< a rank
  std::size_t element = 0;              ///< bytes of one
  std::size_t chunk = 0;                ///< bytes, a multiple of element: the same on all ranks
  std::size_t carriers = 0;             ///< of an allreduce by way of the nodes' memory: of each node; 0: as many as its size is worth
  bool one_rail = false;                ///< what is sent keeps to the best rail
  RailSet rails = 0;                    ///< or to these of this process, as long as any of them is up
  Reducer reducer;
  BlockPart part;  ///< of an allreduce, by ring or mesh: what this operation carries of the vector
  StarTerms star;  ///< it goes through an aggregator
  bool asleep = false;  ///< a single step in place that sends nothing until it is woken (Algorithm::wake())

  std::size_t whole = 0;                ///< bytes of the vector that this one is a part of; 0 = it is no part

  std::size_t bytes() const { return count * element; }
  /// What the members compare (PieceHeader).
  std::size_t compared() const { return whole != 0 ? whole : bytes(); }
  bool rooted() const { return has_root(collective); }
  /// Elements of that rank's block; not of allreduce.
  std::size_t count_of(int rank) const {
    if (rooted()) return rank == root ? count : 0;
    return counts[rank];
  }
  /// Contributions are added up.
  bool reduces() const {
    return collective == Collective::allreduce || collective == Collective::reduce_scatter ||
           collective == Collective::reduce;
  }
  bool calls_host() const { return reduces() && reducer.kernel == nullptr; }
  /// Sums, or what there was from the beginning, go to all.
  bool gathers() const {
    return collective == Collective::allreduce || collective == Collective::allgather ||
           collective == Collective::broadcast;
  }
};

/// The team in ring order. Its neighbours, the members that this one exchanges pieces with, are numbered: `flows` and
/// `trunks` have one entry for each.
struct TeamView {
  int size = 0;
  int position = 0;
  std::span<Flow> flows;
  std::span<Trunk* const> trunks;
  std::span<const int> neighbours;  ///< position by number
  std::span<const int> numbers;     ///< number by position; -1: no neighbour
  std::span<const int> rank_at;     ///< rank by position
  BufferPool* buffers = nullptr;  ///< for what an operation needs room for beside its vectors

  int next(int from, int steps = 1) const { return static_cast<int>((from + steps % size + size) % size); }
  int next() const { return next(position); }
  int previous() const { return next(position, -1); }
  /// How many steps forward from `from` to `to`.
  int distance(int from, int to) const { return (to - from + size) % size; }
  /// Throws where that is no neighbour: without a lane the piece would wait for ever.
  std::size_t number(int at) const {
    const int found = numbers[static_cast<std::size_t>(at)];
    if (found < 0) throw std::logic_error("an algorithm sends to a rank that has no lanes");
    return static_cast<std::size_t>(found);
  }
  void send(int to, const ReadyChunk& chunk) const {
    const std::size_t at = number(to);
    trunks[at]->send(flows[at], chunk);
  }
  void superseded(int to, std::uint64_t offset, std::uint64_t size_) const {
    const std::size_t at = number(to);
    trunks[at]->superseded(flows[at], offset, size_);
  }
};

}  // namespace nezha
