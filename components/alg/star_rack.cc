// SPDX-License-Identifier: BSD-3-Clause
/// The two sides of a rack's aggregator in a tree (star.h): towards the upstream aggregator, and towards the members. What they
/// have in common, the sums, is a RackFold.
#include <array>

#include "alg/algorithm.h"
#include "alg/rack_fold.h"

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
  RackFold* fold_ = nullptr;
};

class StarRack final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    fold_ = call.star.fold;
    fold_->begin_rack(team());
    description_ = write_description({call.star, call.count, static_cast<std::uint32_t>(call.chunk), call.part});
    for (int to = 0; to < team().size - 1; ++to)
      team().send(to, {.data = description_.data(), .size = kStarDescriptionSize, .step = kStarAnswer, .hops = 2, .copied = true});
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
  RackFold* fold_ = nullptr;
  std::array<std::byte, kStarDescriptionSize> description_{};
};

}  // namespace

std::unique_ptr<Algorithm> make_star_climb(const TeamView& team) { return std::make_unique<StarClimb>(team); }
std::unique_ptr<Algorithm> make_star_rack(const TeamView& team) { return std::make_unique<StarRack>(team); }

}  // namespace nezha
