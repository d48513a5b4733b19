// SPDX-License-Identifier: BSD-3-Clause
/// Two-step mesh: everybody sends its contribution to each block straight to the block's owner, which folds them in
/// ring order and sends the sum to everybody. Two hops whatever the team's size, and as few bytes as a ring. Either step
/// is a collective of its own.
///
/// On the wire, step 0 scatters and step 1 gathers. Contributions that arrive before their turn wait in a buffer,
/// one block a position.
#include <vector>

#include "alg/algorithm.h"
#include "alg/values.h"

namespace nezha {
namespace {

class Mesh final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    cut(layout_, call, team(), -1);
    mine_ = owned(team().position);
    values_.begin(call, layout_, mine_, false, *team().buffers);
    const auto positions = static_cast<std::size_t>(team().size);
    const std::size_t block_bytes = layout_.size(mine_);
    if (call.reduces() && block_bytes != 0) reserve_ = team().buffers->take(positions * block_bytes);
    got_.assign(call.reduces() ? positions * layout_.chunks(mine_) : 0, 0);
    gathered_.assign(call.gathers() ? layout_.numbers() : 0, 0);
    folded_.assign(layout_.chunks(mine_), 0);
    left_ = call.reduces() ? layout_.chunks(mine_) : 0;
    for (int step = 1; step < team().size; ++step) {
      const int peer = team().next(team().position, step);
      if (call.gathers()) left_ += layout_.chunks(owned(peer));
      if (call.reduces()) hand_in(peer);
    }
    if (call.reduces()) return;
    for (std::size_t chunk = 0; chunk < layout_.chunks(mine_); ++chunk) hand_round(chunk);
    values_.copy_own_block();
  }

  std::size_t expected(int from, const Call& call) const override {
    return (call.reduces() ? owned_bytes(call, team(), team().position) : 0) +
           (call.gathers() ? owned_bytes(call, team(), from) : 0);
  }

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step > 1 || !(piece.step == 0 ? call_.reduces() : call_.gathers())) return {PlaceKind::bad};
    const int block = piece.step == 0 ? mine_ : owned(from);
    if (!layout_.holds(block, piece.offset, piece.length)) return {PlaceKind::bad};
    if (piece.step == 0) return {PlaceKind::direct, reserved(from, piece.offset)};
    return {PlaceKind::direct, values_.result(piece.offset), call_.reduces()};
  }

  /// The sum contains what was sent to its owner.
  void arriving(int from, const PieceHeader& piece) override { team().superseded(from, piece.offset, piece.length); }

  bool arrived(int from, const PieceHeader& piece, const std::byte*) override {
    const int block = piece.step == 0 ? mine_ : owned(from);
    const std::size_t chunk = layout_.chunk_of(block, piece.offset);
    std::uint32_t& bytes =
        piece.step == 0 ? got_[handed_in(from, chunk)] : gathered_[layout_.numbered(block, chunk)];
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
    for (std::size_t chunk = 0; call_.reduces() && chunk < layout_.chunks(mine_); ++chunk)
      if (got_[handed_in(from, chunk)] < layout_.chunk_size(mine_, chunk)) return true;
    const int block = owned(from);
    for (std::size_t chunk = 0; call_.gathers() && chunk < layout_.chunks(block); ++chunk)
      if (gathered_[layout_.numbered(block, chunk)] < layout_.chunk_size(block, chunk)) return true;
    return false;
  }
  bool complete() const override { return left_ == 0; }

  void end() override {
    reserve_.give_back();
    values_.end(complete());
  }

 private:
  int owned(int position) const { return team().next(position); }

  std::byte* reserved(int from, std::uint64_t offset) {
    return reserve_.data() + static_cast<std::size_t>(from) * layout_.size(mine_) + (offset - layout_.begin(mine_));
  }
  std::size_t handed_in(int from, std::size_t chunk) const {
    return static_cast<std::size_t>(from) * layout_.chunks(mine_) + chunk;
  }

  /// Goes on with the sum of a chunk as far as contributions have come; the own one is the last.
  void fold(std::size_t chunk) {
    const std::size_t offset = layout_.chunk_begin(mine_, chunk);
    const std::size_t size = layout_.chunk_size(mine_, chunk);
    int& next = folded_[chunk];
    for (; next < team().size - 1; ++next) {
      const int from = team().next(mine_, next);
      if (got_[handed_in(from, chunk)] < size) return;
      std::byte* value = reserved(from, offset);
      if (next > 0) call_.reducer.fold(reserved(team().next(mine_, next - 1), offset), value, value, size, offset);
    }
    const std::byte* sum = reserved(team().previous(), offset);
    call_.reducer.fold(sum, values_.contribution(offset), values_.sum(mine_, offset), size, offset);
    --left_;
    if (call_.gathers()) hand_round(chunk);
  }

  /// The own contribution to the block that the peer owns.
  void hand_in(int peer) {
    const int block = owned(peer);
    for (std::size_t chunk = 0; chunk < layout_.chunks(block); ++chunk)
      send(peer, block, chunk, 0, values_.contribution(layout_.chunk_begin(block, chunk)));
  }

  /// A chunk of the own block is final.
  void hand_round(std::size_t chunk) {
    const std::size_t offset = layout_.chunk_begin(mine_, chunk);
    const std::byte* data = call_.reduces() ? values_.sum(mine_, offset) : values_.block(offset);
    for (int step = 1; step < team().size; ++step) send(team().next(team().position, step), mine_, chunk, 1, data);
  }

  void send(int to, int block, std::size_t chunk, std::uint16_t step, const std::byte* data) {
    team().send(to, {.data = data,
                     .offset = layout_.chunk_begin(block, chunk),
                     .size = static_cast<std::uint32_t>(layout_.chunk_size(block, chunk)),
                     .step = step,
                     .hops = static_cast<std::uint16_t>(2 - step)});
  }

  Call call_;
  Layout layout_;
  Values values_;
  int mine_ = 0;                         ///< the block this position owns
  BufferPool::Buffer reserve_;           ///< contributions to the owned block, by position
  std::vector<std::uint32_t> got_;       ///< bytes of them that have arrived, by position and chunk
  std::vector<std::uint32_t> gathered_;  ///< bytes arrived of sums, by chunk
  std::vector<int> folded_;              ///< contributions in each chunk's sum
  std::size_t left_ = 0;                 ///< chunks of the result that are not final here
};

}  // namespace

std::unique_ptr<Algorithm> make_mesh(const TeamView& team) { return std::make_unique<Mesh>(team); }

}  // namespace nezha
