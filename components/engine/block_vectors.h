// SPDX-License-Identifier: BSD-3-Clause
/// The vectors of a reduce_scatter or an allgather while it goes by way of the nodes' shared memory (columns.h). Within one node they
/// are used as they are. Else
///
///   reduce_scatter  the vector is copied into columns, which are reduced to the carriers, and between nodes to the ranks
///                   few carriers: an allreduce, of which each rank keeps its block
///   allgather       blocks are copied to their places in columns, which come from other nodes and are shared, and copied to the result
///                   few carriers: they gather blocks of their node first
#pragma once

#include <cstddef>
#include <utility>

#include "alg/call.h"
#include "engine/columns.h"
#include "node/node_call.h"

namespace nezha {

class BlockVectors {
 public:
  /// Where this rank is: the place-th member of a node.
  struct Where {
    std::size_t node = 0, place = 0;
  };

  BlockVectors() = default;
  explicit BlockVectors(Columns columns) : columns_(std::move(columns)) {}

  const Columns& columns() const { return columns_; }
  /// The call is an allreduce between nodes, and its segments are as of one.
  bool as_allreduce(Collective collective, std::size_t carriers) const {
    return collective == Collective::reduce_scatter && columns_.few(carriers);
  }

  /// Says in `on_node`, which has all carriers, what the node's stage is to do. Throws std::bad_alloc. `call`'s vectors are used until
  /// deliver() has nothing left to do.
  void begin(const Call& call, const Where& where, std::size_t segment, NodeCall& on_node, BufferPool& buffers);
  /// What is done between nodes; by segment, see OperationCarrier.
  Call between() const;
  /// When all that is over: copies some of the result to where the caller wants it. False: nothing is left.
  bool deliver();
  void give_back() { room_.give_back(); }

 private:
  void begin_here(NodeCall& on_node);
  void begin_reduce_scatter(NodeCall& on_node);
  void begin_allgather(const Where& where, NodeCall& on_node);
  std::byte* own_block(std::byte* vector) const { return vector + own_rank_ * columns_.block(); }

  Columns columns_;
  Call call_;
  bool few_ = false;
  std::size_t own_rank_ = 0;
  std::byte* sums_ = nullptr;  ///< where the node's stage has its result
  BufferPool::Buffer room_;
  std::size_t delivered_ = 0;  ///< bytes of columns, of those of an allgather
};

}  // namespace nezha
