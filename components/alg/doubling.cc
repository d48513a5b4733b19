// SPDX-License-Identifier: BSD-3-Clause
/// Recursive doubling: in step s positions that differ in bit s exchange their sums. log2(N) hops with one message each
/// way: fewer messages in all than the single-step mesh. For other team sizes than powers of two, the first positions
/// pair up before and after (Thakur, Rabenseifner and Gropp, 2005).
///
/// The lower half's sum is always the left operand, so all ranks get the same bits; they are not those of the ring.
/// On the wire, step 0 is the pairing, 1..k the exchanges, k+1 the result for the position that paired up. Each step's
/// value is sent from a place of its own: it may still be queued when the partner's has been added to the result. These
/// places stay as they are until the operation ends, so what is sent need not be copied before it leaves.
#include <cstring>
#include <vector>

#include "alg/algorithm.h"
#include "alg/doubling_partners.h"

namespace nezha {
namespace {

class Doubling final : public Algorithm {
 public:
  explicit Doubling(const TeamView& team) : Algorithm(team), partners_(team.size, team.position) {}

  void begin(const Call& call) override {
    call_ = call;
    const auto steps = static_cast<std::size_t>(result_step()) + 1;
    if (slots_.size() < 2 * steps * call.bytes()) slots_.resize(2 * steps * call.bytes());
    got_.assign(steps, 0);
    step_ = 0;
    finished_ = false;
    if (call.recv != call.send) std::memcpy(call.recv, call.send, call.bytes());
    if (partners_.paired() && !partners_.works()) {
      send(team().position + 1, 0);
      step_ = result_step();
    } else if (!partners_.paired()) {
      exchange(1);
    }
  }

  std::size_t expected(int, const Call& call) const override { return call.bytes(); }

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step > result_step() || from != partner(piece.step)) return {PlaceKind::bad};
    if (piece.length > call_.bytes() || piece.offset > call_.bytes() - piece.length) return {PlaceKind::bad};
    return {PlaceKind::direct, slot(piece.step) + piece.offset};
  }

  bool arrived(int, const PieceHeader& piece, const std::byte*) override {
    got_[piece.step] += piece.length;
    if (got_[piece.step] > call_.bytes()) return false;
    while (!finished_ && got_[static_cast<std::size_t>(step_)] == call_.bytes()) advance();
    return true;
  }

  bool awaits(int from) const override { return !finished_ && from == partner(step_); }
  bool complete() const override { return finished_; }

 private:
  int result_step() const { return partners_.result_step(); }
  int partner(int step) const { return partners_.partner(step); }

  std::byte* slot(int step) { return slots_.data() + static_cast<std::size_t>(step) * call_.bytes(); }
  std::byte* own_slot(int step) { return slot(result_step() + 1 + step); }

  /// The value of the step that is waited for is there.
  void advance() {
    const std::size_t bytes = call_.bytes();
    std::byte* theirs = slot(step_);
    if (step_ == result_step()) {
      std::memcpy(call_.recv, theirs, bytes);
      finished_ = true;
      return;
    }
    if (partner(step_) < team().position) {
      call_.reducer.fold(theirs, call_.recv, call_.recv, bytes, 0);
    } else {
      call_.reducer.fold(call_.recv, theirs, theirs, bytes, 0);
      std::memcpy(call_.recv, theirs, bytes);
    }
    exchange(step_ + 1);
  }

  void exchange(int step) {
    step_ = step;
    if (step != result_step()) return send(partner(step), step);
    if (partners_.paired()) send(team().position - 1, step);
    finished_ = true;
  }

  void send(int to, int step) {
    std::memcpy(own_slot(step), call_.recv, call_.bytes());
    team().send(to, {.data = own_slot(step),
                     .size = static_cast<std::uint32_t>(call_.bytes()),
                     .step = static_cast<std::uint16_t>(step),
                     .hops = 1});
  }

  Call call_;
  const DoublingPartners partners_;
  int step_ = 0;                   ///< whose value is waited for
  std::vector<std::byte> slots_;   ///< by step: the partner's values, then those sent
  std::vector<std::size_t> got_;   ///< bytes arrived, by step
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Algorithm> make_doubling(const TeamView& team) { return std::make_unique<Doubling>(team); }

}  // namespace nezha
