// SPDX-License-Identifier: BSD-3-Clause
/// Ring: N-1 steps in which each block collects the contributions of all positions, N-1 steps in which its sum goes
/// round (Patarasuk and Yuan, 2009), as a flow of chunks: a chunk moves on as soon as it is complete. Either half is a
/// collective of its own; with one block, that of a root, it is a chain, through which chunks follow one another.
///
/// On the wire, steps 0..N-2 reduce and N-1..2N-3 gather. In reduce step s position p sends block p-s.
#include <vector>

#include "alg/algorithm.h"
#include "alg/values.h"

namespace nezha {
namespace {

class Ring final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    cut(layout_, call, team(), -1);
    values_.begin(call, layout_, owned(team().position), team().size > 2, *team().buffers);
    first_step_ = call.reduces() ? 0 : gather_step();
    last_step_ = call.gathers() ? 2 * team().size - 3 : gather_step() - 1;
    got_.assign(2 * layout_.numbers(), 0);
    left_ = 0;
    for (int block = 0; block < team().size; ++block) {
      if (call.reduces() && block != team().position) left_ += layout_.chunks(block);
      if (call.gathers() && block != owned(team().position)) left_ += layout_.chunks(block);
    }
    const int first = call.reduces() ? team().position : owned(team().position);
    for (std::size_t chunk = 0; chunk < layout_.chunks(first); ++chunk) {
      const std::size_t offset = layout_.chunk_begin(first, chunk);
      forward(first, chunk, first_step_, call.reduces() ? values_.contribution(offset) : values_.block(offset));
    }
    if (!call.reduces()) values_.copy_own_block();
  }

  std::size_t expected(int from, const Call& call) const override {
    if (from != team().previous()) return 0;
    if (call.collective == Collective::allreduce)
      return 2 * (call.count - call.count / static_cast<std::size_t>(team().size)) * call.element;
    const int owner = call.reduces() ? team().previous() : team().position;  // of the block that sets out from here
    return call.bytes() - owned_bytes(call, team(), owner);
  }

  Placement place(int from, const PieceHeader& piece) override {
    if (from != team().previous() || piece.step < first_step_ || piece.step > last_step_) return {PlaceKind::bad};
    const int block = block_of(piece.step);
    if (!layout_.holds(block, piece.offset, piece.length)) return {PlaceKind::bad};
    if (piece.step < gather_step()) return {PlaceKind::scratch};
    return {PlaceKind::direct, values_.result(piece.offset), call_.reduces()};
  }

  /// The sum went all the way round, so what was sent of these bytes before has arrived.
  void arriving(int, const PieceHeader& piece) override {
    if (piece.step >= gather_step()) team().superseded(team().next(), piece.offset, piece.length);
  }

  bool arrived(int, const PieceHeader& piece, const std::byte* data) override {
    const int block = block_of(piece.step);
    const bool reduce = piece.step < gather_step();
    const std::size_t chunk = layout_.chunk_of(block, piece.offset);
    if (reduce)
      call_.reducer.fold(data, values_.contribution(piece.offset), values_.sum(block, piece.offset), piece.length,
                         piece.offset);
    std::uint32_t& got = got_[2 * layout_.numbered(block, chunk) + (reduce ? 0 : 1)];
    got += piece.length;
    const std::size_t size = layout_.chunk_size(block, chunk);
    if (got > size) return false;
    if (got < size) return true;
    --left_;
    if (piece.step == last_step_) return true;
    const std::size_t offset = layout_.chunk_begin(block, chunk);
    forward(block, chunk, piece.step + 1, reduce ? values_.sum(block, offset) : values_.result(offset));
    return true;
  }

  bool awaits(int from) const override { return from == team().previous() && left_ != 0; }
  bool complete() const override { return left_ == 0; }

  void end() override { values_.end(complete()); }

 private:
  int gather_step() const { return team().size - 1; }
  int owned(int position) const { return team().next(position); }
  /// Which block arrives here in that step. The two halves of the way run on from each other.
  int block_of(int step) const { return team().next(team().position, -(step + 1) % team().size); }

  void forward(int block, std::size_t chunk, int step, const std::byte* data) {
    team().send(team().next(), {.data = data,
                                .offset = layout_.chunk_begin(block, chunk),
                                .size = static_cast<std::uint32_t>(layout_.chunk_size(block, chunk)),
                                .step = static_cast<std::uint16_t>(step),
                                .hops = static_cast<std::uint16_t>(last_step_ + 1 - step)});
  }

  Call call_;
  Layout layout_;
  Values values_;
  int first_step_ = 0, last_step_ = 0;
  std::vector<std::uint32_t> got_;  ///< bytes arrived, by chunk and half
  std::size_t left_ = 0;            ///< chunks still to arrive
};

}  // namespace

std::unique_ptr<Algorithm> make_ring(const TeamView& team) { return std::make_unique<Ring>(team); }

}  // namespace nezha
