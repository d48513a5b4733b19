// SPDX-License-Identifier: BSD-3-Clause
/// The side of a rack's aggregator towards the upstream one, in a tree (star.h). What it has in common with the side towards the
/// members (star_center.cc), the sums, is a StarFold.
#include "alg/algorithm.h"
#include "alg/star_fold.h"

namespace nezha {
namespace {

class StarClimb final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    fold_ = call.star.fold;
    fold_->begin_climb(call, team());
  }

  std::size_t expected(int, const Call&) const override { return 0; }  // the descriptions say that it has begun
  Placement place(int, const PieceHeader& piece) override { return fold_->place_from_above(piece); }
  void arriving(int, const PieceHeader& piece) override { fold_->arriving_from_above(piece); }
  bool arrived(int, const PieceHeader& piece, const std::byte* data) override {
    return fold_->arrived_from_above(piece, data);
  }
  bool complete() const override { return fold_->complete(); }
  void end() override { fold_->end(); }

 private:
  StarFold* fold_ = nullptr;
};

}  // namespace

std::unique_ptr<Algorithm> make_star_climb(const TeamView& team) { return std::make_unique<StarClimb>(team); }

}  // namespace nezha
