// SPDX-License-Identifier: BSD-3-Clause
/// A member's side of an allreduce through an aggregator (star.h): a window of chunks is on its way there, and each sum
/// that comes back lets another one go. In place sums come over contributions, so these are kept apart before they go.
#include <array>
#include <cstring>
#include <vector>

#include "alg/algorithm.h"
#include "alg/star_layout.h"

namespace nezha {
namespace {

class StarLeaf final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    layout_.cut(call);
    got_.assign(layout_.chunks(), 0);
    sent_ = summed_ = 0;
    left_ = layout_.chunks();
    description_ = write_description({call.star, call.count, static_cast<std::uint32_t>(call.chunk), call.part});
    team().send(kStarCenter, {.data = description_.data(),
                              .size = kStarDescriptionSize,
                              .step = kStarDescription,
                              .hops = 2,
                              .copied = true});
    answered_ = false;
    tell();
  }

  std::size_t expected(int, const Call& call) const override { return call.bytes(); }

  Placement place(int, const PieceHeader& piece) override {
    if (piece.step == kStarAnswer)
      return {!answered_ && piece.length == kStarDescriptionSize ? PlaceKind::scratch : PlaceKind::bad};
    if (piece.step != kStarSum || !layout_.holds(piece.offset, piece.length, call_.bytes())) return {PlaceKind::bad};
    if (layout_.number_of(piece.offset) >= sent_) return {PlaceKind::bad};
    return {PlaceKind::direct, call_.recv + piece.offset};
  }

  bool arrived(int, const PieceHeader& piece, const std::byte*) override {
    if (piece.step == kStarAnswer) {
      answered_ = true;
      go_on();
      return true;
    }
    const std::size_t number = layout_.number_of(piece.offset);
    const StarLayout::Chunk chunk = layout_.chunk(number);
    std::uint32_t& got = got_[number];
    got += piece.length;
    if (got > chunk.size) return false;
    if (got < chunk.size) return true;
    --left_;
    team().superseded(kStarCenter, chunk.begin, chunk.size);
    while (summed_ < got_.size() && got_[summed_] == layout_.chunk(summed_).size) ++summed_;
    go_on();
    return true;
  }

  void wake() override { go_on(); }
  bool awaits(int) const override { return !complete(); }
  bool complete() const override { return answered_ && left_ == 0; }

 private:
  void go_on() {
    if (!answered_) return;
    for (; sent_ < layout_.chunks() && sent_ < summed_ + call_.star.window; ++sent_) {
      const StarLayout::Chunk chunk = layout_.chunk(sent_);
      if (chunk.end() > progress().ready) break;
      const std::byte* data = call_.send + chunk.begin;
      if (progress().kept != nullptr) {
        std::memcpy(progress().kept + chunk.begin, data, chunk.size);
        data = progress().kept + chunk.begin;
      }
      team().send(kStarCenter, {.data = data,
                                .offset = chunk.begin,
                                .size = static_cast<std::uint32_t>(chunk.size),
                                .step = kStarContribution,
                                .hops = 1});
    }
    tell();
  }

  StarProgress& progress() const { return *call_.star.progress; }
  void tell() {
    progress().sent = before(sent_);
    progress().final = before(summed_);
  }
  /// Bytes of the vector up to that chunk.
  std::size_t before(std::size_t number) const {
    return number == layout_.chunks() ? call_.bytes() : layout_.chunk(number).begin;
  }

  Call call_;
  StarLayout layout_;
  std::array<std::byte, kStarDescriptionSize> description_{};
  std::vector<std::uint32_t> got_;  ///< bytes of sums that have arrived, by chunk
  bool answered_ = false;
  std::size_t sent_ = 0;    ///< chunks
  std::size_t summed_ = 0;  ///< chunks before this one have their sums
  std::size_t left_ = 0;    ///< sums still to arrive
};

}  // namespace

std::unique_ptr<Algorithm> make_star_leaf(const TeamView& team) { return std::make_unique<StarLeaf>(team); }

}  // namespace nezha
