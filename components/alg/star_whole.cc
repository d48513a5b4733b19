// SPDX-License-Identifier: BSD-3-Clause
/// A small allreduce through an aggregator (star.h), whole and in two hops: each member sends one piece, its
/// description and behind that its contribution; the aggregator sends one piece, the sum, to each.
///
/// The aggregator begins the operation when it has the contributions of all members. They lie one after the other, by
/// position, at the call's `recv`. Blocks are folded in ring order, so that the bits are the ring's. In a tree the upstream
/// aggregator does so; a rack's has the sum at `recv` when it begins.
#include <cstring>
#include <vector>

#include "alg/algorithm.h"

namespace nezha {
namespace {

class WholeLeaf final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    got_ = false;
    piece_.resize(kStarDescriptionSize + call.bytes());
    const auto description = write_description({call.star, call.count, 0, {}});
    std::memcpy(piece_.data(), description.data(), kStarDescriptionSize);
    std::memcpy(piece_.data() + kStarDescriptionSize, call.send, call.bytes());
    team().send(
        kStarCenter,
        {.data = piece_.data(), .size = static_cast<std::uint32_t>(piece_.size()), .step = kStarWhole, .hops = 1});
  }

  std::size_t expected(int, const Call& call) const override { return call.bytes(); }

  Placement place(int, const PieceHeader& piece) override {
    const bool sum = piece.step == kStarSum && piece.offset == 0 && piece.length == call_.bytes() && !got_;
    // Not direct: a second copy of the sum on another lane could be written into `recv` after this call has returned.
    return {sum ? PlaceKind::scratch : PlaceKind::bad};
  }

  bool arrived(int, const PieceHeader&, const std::byte* data) override {
    if (got_) return false;
    got_ = true;
    std::memcpy(call_.recv, data, call_.bytes());
    team().superseded(kStarCenter, 0, piece_.size());
    return true;
  }

  bool awaits(int) const override { return !got_; }
  bool complete() const override { return got_; }

 private:
  Call call_;
  std::vector<std::byte> piece_;
  bool got_ = false;  ///< the sum
};

class WholeCenter final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    sum_.assign(call.recv, call.recv + call.bytes());
    if (call.star.tier != StarTier::rack) fold_all();
    const ReadyChunk sum{.data = sum_.data(),
                         .size = static_cast<std::uint32_t>(sum_.size()),
                         .step = kStarSum,
                         .hops = 1,
                         .copied = true};
    for (int to = 0; to < team().size - 1; ++to) team().send(to, sum);
  }

  std::size_t expected(int, const Call&) const override { return 0; }  // all has come
  Placement place(int, const PieceHeader&) override { return {PlaceKind::bad}; }
  bool arrived(int, const PieceHeader&, const std::byte*) override { return false; }
  bool awaits(int) const override { return false; }
  bool complete() const override { return true; }

 private:
  int contributions() const { return static_cast<int>(call_.star.members); }

  void fold_all() {
    const Layout layout(call_.count, call_.element, contributions(), call_.bytes());
    for (int block = 0; block < contributions(); ++block)
      if (layout.size(block) != 0) fold(block, layout.begin(block), layout.size(block));
  }

  /// Each partial sum goes where the contribution just added was.
  void fold(int block, std::size_t offset, std::size_t size) {
    const std::byte* sum = nullptr;
    for (int step = 0; step < contributions(); ++step) {
      std::byte* value = call_.recv + static_cast<std::size_t>((block + step) % contributions()) * call_.bytes() + offset;
      if (sum != nullptr) call_.reducer.fold(sum, value, value, size, offset);
      sum = value;
    }
    std::memcpy(sum_.data() + offset, sum, size);
  }

  Call call_;
  std::vector<std::byte> sum_;
};

}  // namespace

std::unique_ptr<Algorithm> make_whole_leaf(const TeamView& team) { return std::make_unique<WholeLeaf>(team); }
std::unique_ptr<Algorithm> make_whole_center(const TeamView& team) { return std::make_unique<WholeCenter>(team); }

}  // namespace nezha
