// SPDX-License-Identifier: BSD-3-Clause
/// Where the values of an operation lie on this rank: what it hands in, the sums that it works on, and the result. For an
/// algorithm that adds up block by block and then hands the sums round, or does one of the two.
#pragma once

#include <cstring>

#include "alg/call.h"
#include "alg/layout.h"

namespace nezha {

/// As the algorithms see a call: blocks by position. `owner`: the position that owns a block, less its number.
inline void cut(Layout& layout, const Call& call, const TeamView& team, int owner) {
  if (call.collective == Collective::allreduce) return layout.cut(call.count, call.element, team.size, call.chunk, call.part);
  layout.cut([&](int rank) { return call.count_of(rank); },
             [&](int block) { return team.rank_at[static_cast<std::size_t>(team.next(block, owner))]; }, call.element,
             team.size, call.chunk);
}

/// Bytes of the block that a position owns; of an allreduce at most, since the longest blocks have one element more.
inline std::size_t owned_bytes(const Call& call, const TeamView& team, int position) {
  const auto size = static_cast<std::size_t>(team.size);
  if (call.collective == Collective::allreduce) return (call.count + size - 1) / size * call.element;
  return call.count_of(team.rank_at[static_cast<std::size_t>(position)]) * call.element;
}

class Values {
 public:
  /// `own`: the block whose sum this position gets. `adds_others`: it adds to other blocks too.
  void begin(const Call& call, const Layout& layout, int own, bool adds_others, BufferPool& buffers) {
    in_ = call.send;
    sums_ = out_ = call.recv;
    own_ = own;
    own_begin_ = layout.begin(own);
    own_size_ = layout.size(own);
    if (call.collective == Collective::allreduce) out_ += own_begin_;
    shifted_to_ = nullptr;
    if (call.gathers() || !call.reduces()) return;
    // In place the result lies over contributions to other blocks.
    const bool shifted = call.send == call.recv && own_begin_ != 0 && own_size_ != 0;
    const bool others = adds_others && own_size_ != call.bytes();
    if (!shifted && !others) return;
    room_ = buffers.take(others ? call.bytes() : own_size_);
    if (others) sums_ = room_.data();
    if (!shifted) return;
    shifted_to_ = out_;
    out_ = room_.data() + (others ? own_begin_ : 0);
  }
  /// No lane refers to contributions any more. `complete`: the operation has a result.
  void end(bool complete) {
    if (complete && shifted_to_ != nullptr) std::memcpy(shifted_to_, out_, own_size_);
    shifted_to_ = nullptr;
    room_.give_back();
  }

  /// What this rank adds to a sum, at that offset of the vector.
  const std::byte* contribution(std::uint64_t offset) const { return in_ + offset; }
  std::byte* sum(int block, std::uint64_t offset) const {
    return block == own_ ? out_ + (offset - own_begin_) : sums_ + offset;
  }
  /// Only where sums, or blocks, go to all.
  std::byte* result(std::uint64_t offset) const { return sums_ + offset; }
  /// Where nothing is added up: the own block as it was handed in.
  const std::byte* block(std::uint64_t offset) const { return in_ + (offset - own_begin_); }
  void copy_own_block() const {
    if (own_size_ != 0 && in_ != sums_ + own_begin_) std::memcpy(sums_ + own_begin_, in_, own_size_);
  }

 private:
  const std::byte* in_ = nullptr;
  std::byte* sums_ = nullptr;
  std::byte* out_ = nullptr;         ///< of the own block
  std::byte* shifted_to_ = nullptr;  ///< where it goes in the end; null: it is there
  int own_ = 0;
  std::size_t own_begin_ = 0, own_size_ = 0;
  BufferPool::Buffer room_;
};

}  // namespace nezha
