// SPDX-License-Identifier: BSD-3-Clause
/// Two-step mesh: everybody sends its contribution to each block straight to the block's owner, which folds them in
/// ring order and sends the sum to everybody. Two hops whatever the team's size, and as few bytes as a ring.
///
/// On the wire, step 0 scatters and step 1 gathers. Contributions that arrive before their turn wait in a buffer,
/// one block a position.
#include <vector>

#include "alg/algorithm.h"
#include "alg/layout.h"

namespace nezha {
namespace {

class Mesh final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    layout_ = Layout(call.count, call.element, team().size, call.chunk);
    mine_ = owned(team().position);
    stride_ = layout_.most_chunks();
    const auto positions = static_cast<std::size_t>(team().size);
    reserve_ = team().buffers->take(positions * layout_.largest());
    got_.assign(2 * positions * stride_, 0);
    folded_.assign(stride_, 0);
    left_ = layout_.chunks(mine_);
    for (int step = 1; step < team().size; ++step) {
      const int peer = team().next(team().position, step);
      const int block = owned(peer);
      left_ += layout_.chunks(block);
      for (std::size_t chunk = 0; chunk < layout_.chunks(block); ++chunk) send(peer, block, chunk, 0, call_.send);
    }
  }

  std::size_t expected(int, const Call& call) const override {
    return 2 * call.bytes() / static_cast<std::size_t>(team().size);
  }

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step > 1) return {PlaceKind::bad};
    const int block = piece.step == 0 ? mine_ : owned(from);
    if (!layout_.holds(block, piece.offset, piece.length)) return {PlaceKind::bad};
    if (piece.step == 0) return {PlaceKind::direct, reserved(from, piece.offset)};
    return {PlaceKind::direct, call_.recv + piece.offset, true};
  }

  /// The sum contains what was sent to its owner.
  void arriving(int from, const PieceHeader& piece) override { team().superseded(from, piece.offset, piece.length); }

  bool arrived(int from, const PieceHeader& piece, const std::byte*) override {
    const int block = piece.step == 0 ? mine_ : owned(from);
    const std::size_t chunk = layout_.chunk_of(block, piece.offset);
    std::uint32_t& bytes = got(from, piece.step, chunk);
    bytes += piece.length;
    const std::size_t size = layout_.chunk_size(block, chunk);
    if (bytes > size) return false;
    if (bytes < size) return true;
    if (piece.step == 0)
      fold(chunk);
    else
      --left_;
    return true;
  }

  bool awaits(int from) const override {
    for (const int step : {0, 1}) {
      const int block = step == 0 ? mine_ : owned(from);
      for (std::size_t chunk = 0; chunk < layout_.chunks(block); ++chunk)
        if (got_[got_at(from, step, chunk)] < layout_.chunk_size(block, chunk)) return true;
    }
    return false;
  }
  bool complete() const override { return left_ == 0; }

  void end() override { reserve_.give_back(); }

 private:
  int owned(int position) const { return team().next(position); }

  std::byte* reserved(int from, std::uint64_t offset) {
    return reserve_.data() + static_cast<std::size_t>(from) * layout_.largest() + (offset - layout_.begin(mine_));
  }
  std::size_t got_at(int from, int step, std::size_t chunk) const {
    return (static_cast<std::size_t>(from) * 2 + static_cast<std::size_t>(step)) * stride_ + chunk;
  }
  std::uint32_t& got(int from, int step, std::size_t chunk) { return got_[got_at(from, step, chunk)]; }

  /// Goes on with the sum of a chunk as far as contributions have come; the own one is the last.
  void fold(std::size_t chunk) {
    const std::size_t offset = layout_.chunk_begin(mine_, chunk);
    const std::size_t size = layout_.chunk_size(mine_, chunk);
    int& next = folded_[chunk];
    for (; next < team().size - 1; ++next) {
      const int from = team().next(mine_, next);
      if (got(from, 0, chunk) < size) return;
      std::byte* value = reserved(from, offset);
      if (next > 0) call_.reducer.fold(reserved(team().next(mine_, next - 1), offset), value, value, size, offset);
    }
    const std::byte* sum = reserved(team().previous(), offset);
    call_.reducer.fold(sum, call_.send + offset, call_.recv + offset, size, offset);
    --left_;
    for (int step = 1; step < team().size; ++step)
      send(team().next(team().position, step), mine_, chunk, 1, call_.recv);
  }

  void send(int to, int block, std::size_t chunk, std::uint16_t step, const std::byte* from) {
    const std::size_t offset = layout_.chunk_begin(block, chunk);
    team().send(to, {.data = from + offset,
                     .offset = offset,
                     .size = static_cast<std::uint32_t>(layout_.chunk_size(block, chunk)),
                     .step = step,
                     .hops = static_cast<std::uint16_t>(2 - step)});
  }

  Call call_;
  Layout layout_;
  int mine_ = 0;                    ///< the block this position owns
  std::size_t stride_ = 0;          ///< chunks of the largest block
  BufferPool::Buffer reserve_;      ///< contributions to the owned block, by position
  std::vector<std::uint32_t> got_;  ///< bytes arrived, by position, step and chunk
  std::vector<int> folded_;         ///< contributions in each chunk's sum
  std::size_t left_ = 0;            ///< chunks of the result that are not final here
};

}  // namespace

std::unique_ptr<Algorithm> make_mesh(const TeamView& team) { return std::make_unique<Mesh>(team); }

}  // namespace nezha
