// SPDX-License-Identifier: BSD-3-Clause
/// Ring: N-1 steps in which each block collects the contributions of all positions, N-1 steps in which its sum goes
/// round (Patarasuk and Yuan, 2009), as a flow of chunks: a chunk moves on as soon as it is complete.
///
/// On the wire, steps 0..N-2 reduce and N-1..2N-3 gather. In reduce step s position p sends block p-s.
#include <cstring>
#include <vector>

#include "alg/algorithm.h"
#include "alg/layout.h"

namespace nezha {
namespace {

class Ring final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    layout_ = Layout(call.count, call.element, team().size, call.chunk);
    const auto blocks = static_cast<std::size_t>(team().size);
    stride_ = layout_.most_chunks();
    got_.assign(2 * blocks * stride_, 0);
    left_ = 0;
    for (int block = 0; block < team().size; ++block) {
      if (block != team().position) left_ += layout_.chunks(block);         // arrives once to be reduced,
      if (block != owned(team().position)) left_ += layout_.chunks(block);  // and once as the sum
    }
    const int own = team().position;
    for (std::size_t chunk = 0; chunk < layout_.chunks(own); ++chunk) forward(own, chunk, 0, call_.send);
  }

  std::size_t expected(int from, const Call& call) const override {
    const auto size = static_cast<std::size_t>(team().size);
    return from == team().previous() ? 2 * (call.bytes() / size) * (size - 1) : 0;
  }

  Placement place(int from, const PieceHeader& piece) override {
    if (from != team().previous() || piece.step > last_step()) return {PlaceKind::bad};
    const int block = block_of(piece.step);
    if (!layout_.holds(block, piece.offset, piece.length)) return {PlaceKind::bad};
    if (piece.step < gather_step()) return {PlaceKind::scratch};
    return {PlaceKind::direct, call_.recv + piece.offset, true};
  }

  /// The sum went all the way round, so what was sent of these bytes before has arrived.
  void arriving(int, const PieceHeader& piece) override {
    team().superseded(team().next(), piece.offset, piece.length);
  }

  bool arrived(int, const PieceHeader& piece, const std::byte* data) override {
    const int block = block_of(piece.step);
    const bool reduce = piece.step < gather_step();
    const std::size_t chunk = layout_.chunk_of(block, piece.offset);
    if (reduce)
      call_.reducer.fold(data, call_.send + piece.offset, call_.recv + piece.offset, piece.length, piece.offset);
    std::uint32_t& got = got_[(static_cast<std::size_t>(block) * 2 + (reduce ? 0 : 1)) * stride_ + chunk];
    got += piece.length;
    const std::size_t size = layout_.chunk_size(block, chunk);
    if (got > size) return false;
    if (got < size) return true;
    --left_;
    if (piece.step < last_step()) forward(block, chunk, static_cast<std::uint16_t>(piece.step + 1), call_.recv);
    return true;
  }

  bool awaits(int from) const override { return from == team().previous() && left_ != 0; }
  bool complete() const override { return left_ == 0; }

 private:
  int gather_step() const { return team().size - 1; }
  int last_step() const { return 2 * team().size - 3; }
  int owned(int position) const { return team().next(position); }
  /// Which block arrives here in that step. The two halves of the way run on from each other.
  int block_of(int step) const { return team().next(team().position, -(step + 1) % team().size); }

  void forward(int block, std::size_t chunk, std::uint16_t step, const std::byte* from) {
    const std::size_t offset = layout_.chunk_begin(block, chunk);
    team().send(team().next(), {.data = from + offset,
                                .offset = offset,
                                .size = static_cast<std::uint32_t>(layout_.chunk_size(block, chunk)),
                                .step = step,
                                .hops = static_cast<std::uint16_t>(last_step() + 1 - step)});
  }

  Call call_;
  Layout layout_;
  std::size_t stride_ = 0;          ///< chunks of the largest block
  std::vector<std::uint32_t> got_;  ///< bytes arrived, by block, half and chunk
  std::size_t left_ = 0;            ///< chunks still to arrive
};

}  // namespace

std::unique_ptr<Algorithm> make_ring(const TeamView& team) { return std::make_unique<Ring>(team); }

}  // namespace nezha
