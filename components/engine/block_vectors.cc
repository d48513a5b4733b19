// SPDX-License-Identifier: BSD-3-Clause
#include "engine/block_vectors.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nezha {
namespace {

constexpr std::size_t kAtATime = std::size_t{1} << 20;  ///< bytes that are copied in a look, whose caller has other things to do

}  // namespace

void BlockVectors::begin(const Call& call, const Where& where, std::size_t segment, NodeCall& on_node, BufferPool& buffers) {
  call_ = call;
  columns_.cut(on_node.bytes, on_node.carriers.size(), segment);
  few_ = columns_.few(on_node.carriers.size());
  own_rank_ = static_cast<std::size_t>(columns_.rank(where.node, where.place));
  delivered_ = on_node.bytes;
  if (columns_.as_in_vector()) {
    begin_here(on_node);
  } else {
    room_ = buffers.take(on_node.bytes);
    sums_ = room_.data();
    call.collective == Collective::allgather ? begin_allgather(where, on_node) : begin_reduce_scatter(on_node);
  }
  on_node.recv = sums_;
}

/// A carrier's part is its block, the only one that it writes of the sums.
void BlockVectors::begin_here(NodeCall& on_node) {
  sums_ = call_.recv;
  if (call_.collective == Collective::allgather) {
    on_node.from = kNoMember;
    if (call_.send != own_block(sums_)) std::memcpy(own_block(sums_), call_.send, columns_.block());
    return;
  }
  on_node.to = kNoMember;
  if (call_.send != call_.recv) sums_ -= own_rank_ * columns_.block();
}

void BlockVectors::begin_reduce_scatter(NodeCall& on_node) {
  if (few_) return;
  columns_.arrange(call_.send, 0, on_node.bytes, sums_);
  on_node.send = sums_;
  on_node.to = kNoMember;
  on_node.reducer.places = &columns_;
}

void BlockVectors::begin_allgather(const Where& where, NodeCall& on_node) {
  if (few_) {
    on_node.block = columns_.block();
    on_node.blocks_at = where.node * columns_.blocks();
  } else {
    on_node.from = kNoMember;
  }
  columns_.arrange_block(call_.send, where.place, where.node, sums_);
  on_node.send = sums_;
  delivered_ = 0;
}

Call BlockVectors::between() const {
  Call call = call_;
  call.send = sums_;
  if (call.collective == Collective::allgather || few_) call.recv = sums_;
  if (call.collective == Collective::reduce_scatter && few_)
    call.collective = Collective::allreduce;
  else
    call.reducer.places = &columns_;
  return call;
}

bool BlockVectors::deliver() {
  const bool scatters = call_.collective == Collective::reduce_scatter, moves = columns_.as_in_vector() ? call_.send == call_.recv : few_;
  if (scatters && moves) std::memmove(call_.recv, own_block(sums_), columns_.block());
  if (scatters || delivered_ == call_.bytes()) return false;
  const std::size_t from = std::exchange(delivered_, std::min(delivered_ + kAtATime, call_.bytes()));
  columns_.restore(sums_, from, delivered_, call_.recv);
  return true;
}

}  // namespace nezha
