// SPDX-License-Identifier: BSD-3-Clause
/// The order in which blocks go by way of the nodes' shared memory, in a reduce_scatter or an allgather of even blocks over nodes
/// of equally many ranks. Of each node as many ranks carry as there are columns; a column has the blocks of some of each node's ranks:
///
///   vector    columns, one behind the other: a carrier's part of the vector is a column
///   column    segments, each an operation between nodes
///   segment   of each node's blocks of the column an equal piece, by node
///
/// Within one node that is the order of the blocks in the vector.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/ranks_by_node.h"
#include "reduce/places.h"

namespace nezha {

class Columns final : public Places {
 public:
  /// Nodes have equally many ranks.
  static bool possible(const RanksByNode& nodes);
  static bool even(const std::size_t* counts, std::size_t ranks);

  Columns() = default;
  explicit Columns(const RanksByNode& nodes);

  /// As many columns as there can be, `most` at most: a divisor of the ranks of a node.
  std::size_t count(std::size_t most) const;
  /// There could be more columns than so many.
  bool few(std::size_t columns) const { return columns < places(); }
  /// Bytes of a segment of about `wanted` bytes: whole elements for each node.
  std::size_t segment(std::size_t bytes, std::size_t element, std::size_t columns, std::size_t wanted) const;
  void cut(std::size_t bytes, std::size_t columns, std::size_t segment);
  bool as_in_vector() const { return nodes_ == 1; }
  /// Bytes of the block of each rank, and of those that a column has of each node.
  std::size_t block() const { return block_; }
  std::size_t blocks() const { return in_column_ * block_; }
  int rank(std::size_t node, std::size_t place) const { return (*ranks_)[place * nodes_ + node]; }

  /// Where what lies at `offset` of the columns lies in the vector, and how much that follows lies there too.
  Run at(std::size_t offset) const override;
  /// Copies [begin, end) of the columns from the vector, or into it.
  void arrange(const std::byte* vector, std::size_t begin, std::size_t end, std::byte* columns) const;
  void restore(const std::byte* columns, std::size_t begin, std::size_t end, std::byte* vector) const;
  /// Copies the block of the rank that is the `place`-th of that node from where it lies alone.
  void arrange_block(const std::byte* block, std::size_t place, std::size_t node, std::byte* columns) const;

 private:
  std::size_t places() const { return ranks_->size() / nodes_; }
  template <typename Copy>
  void each_run(std::size_t begin, std::size_t end, const Copy& copy) const;

  std::size_t nodes_ = 1;
  std::shared_ptr<const std::vector<int>> ranks_;  ///< by place on their nodes, and there by node; all copies have the same
  std::size_t block_ = 1, piece_ = 1;  ///< bytes; of pieces all but the last ones
  std::size_t in_column_ = 1;          ///< places whose blocks a column has
};

}  // namespace nezha
