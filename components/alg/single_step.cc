// SPDX-License-Identifier: BSD-3-Clause
/// Single-step mesh: everybody sends its whole vector to everybody and adds up by itself. One hop, for small vectors.
/// Sums are folded block by block in ring order, so the bits are those of the ring. What is sent is copied: nothing
/// that arrives here says that a peer has received. In place it is copied beforehand too, because the result may be
/// ready while the own vector still waits for a lane.
///
/// A call may sleep: it takes what comes, and sends its vector when it is woken or when something has come.
#include <cstring>
#include <vector>

#include "alg/algorithm.h"
#include "alg/layout.h"

namespace nezha {
namespace {

class SingleStep final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    const std::size_t bytes = call.bytes();
    const auto positions = static_cast<std::size_t>(team().size);
    if (reserve_.size() < positions * bytes) reserve_.resize(positions * bytes);
    got_.assign(positions, 0);
    left_ = positions - 1;
    finished_ = false;
    const std::byte* own = call.send;
    if (call.send == call.recv) {
      std::memcpy(vector_of(team().position), call.send, bytes);
      own = vector_of(team().position);
    }
    own_ = own;
    awake_ = false;
    if (!call.asleep) wake();
  }

  void wake() override {
    if (awake_) return;
    awake_ = true;
    const ReadyChunk all{.data = own_, .size = static_cast<std::uint32_t>(call_.bytes()), .hops = 1, .copied = true};
    for (int step = 1; step < team().size; ++step) team().send(team().next(team().position, step), all);
  }
  bool awake() const override { return awake_; }

  std::size_t expected(int, const Call& call) const override { return call.bytes(); }

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step != 0 || piece.length > call_.bytes() || piece.offset > call_.bytes() - piece.length)
      return {PlaceKind::bad};
    return {PlaceKind::direct, vector_of(from) + piece.offset};
  }

  bool arrived(int from, const PieceHeader& piece, const std::byte*) override {
    std::size_t& bytes = got_[static_cast<std::size_t>(from)];
    bytes += piece.length;
    if (bytes > call_.bytes()) return false;
    wake();
    if (bytes == call_.bytes() && --left_ == 0) add_up();
    return true;
  }

  bool awaits(int from) const override { return got_[static_cast<std::size_t>(from)] < call_.bytes(); }
  bool complete() const override { return finished_; }

 private:
  std::byte* vector_of(int position) { return reserve_.data() + static_cast<std::size_t>(position) * call_.bytes(); }

  void add_up() {
    const Layout layout(call_.count, call_.element, team().size, call_.bytes());
    for (int block = 0; block < team().size; ++block) {
      const std::size_t size = layout.size(block);
      if (size != 0) fold(block, layout.begin(block), size);
    }
    finished_ = true;
  }

  /// Each partial sum goes where the contribution just added was; the caller's own goes to the result.
  void fold(int block, std::size_t offset, std::size_t size) {
    const std::byte* sum = nullptr;
    for (int step = 0; step < team().size; ++step) {
      const int from = team().next(block, step);
      const bool own = from == team().position;
      const std::byte* value = own ? call_.send + offset : vector_of(from) + offset;
      if (sum == nullptr) {
        sum = value;
        continue;
      }
      std::byte* out = own ? call_.recv + offset : vector_of(from) + offset;
      call_.reducer.fold(sum, value, out, size, offset);
      sum = out;
    }
    if (sum != call_.recv + offset) std::memcpy(call_.recv + offset, sum, size);
  }

  Call call_;
  std::vector<std::byte> reserve_;  ///< the vectors, by position; the own one when in place
  std::vector<std::size_t> got_;    ///< bytes arrived, by position
  const std::byte* own_ = nullptr;  ///< the vector that is sent
  std::size_t left_ = 0;            ///< vectors still to arrive
  bool awake_ = false;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Algorithm> make_single_step(const TeamView& team) { return std::make_unique<SingleStep>(team); }

}  // namespace nezha
