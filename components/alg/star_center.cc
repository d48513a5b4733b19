// SPDX-License-Identifier: BSD-3-Clause
/// The side of an aggregator towards its members in an allreduce through it (star.h). A StarFold adds up what they send.
#include "alg/algorithm.h"
#include "alg/star_chunks.h"
#include "alg/star_fold.h"

namespace nezha {
namespace {

class StarCenter final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    fold_ = call.star.fold;
    if (call.star.tier == StarTier::single) fold_->begin_alone(call);
    fold_->begin_members(team());
    answer_.send(team(), call, 2);
  }

  std::size_t expected(int, const Call&) const override { return 0; }  // the answer says that it has begun
  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step == kStarDescription) return {PlaceKind::bin};
    return fold_->place_from_member(from, piece);
  }
  bool arrived(int from, const PieceHeader& piece, const std::byte*) override {
    return fold_->arrived_from_member(from, piece);
  }
  bool complete() const override { return fold_->complete(); }
  void end() override { fold_->end(); }

 private:
  StarFold* fold_ = nullptr;
  StarAnswer answer_;
};

}  // namespace

std::unique_ptr<Algorithm> make_star_center(const TeamView& team) { return std::make_unique<StarCenter>(team); }

}  // namespace nezha
