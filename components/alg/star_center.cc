// SPDX-License-Identifier: BSD-3-Clause
/// The aggregator's side of an allreduce through it (star.h). Contributions are folded in the ring order of their block, as
/// far as they have come, and the sum goes to all members.
///
/// Chunk n lies in slot n % window: room for a contribution of each member, and for a sum. A member that sends chunk
/// n + window has the sum of chunk n; so its own room is free, and when all have sent theirs the old sum is.
#include <algorithm>
#include <array>
#include <vector>

#include "alg/algorithm.h"
#include "alg/star_layout.h"
#include "alg/star_rooms.h"

namespace nezha {
namespace {

class StarCenter final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    layout_.cut(call);
    slots_.resize(std::min<std::size_t>(call.star.window, layout_.chunks()));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].got.assign(static_cast<std::size_t>(members()), 0);
      slots_[i].folded = 0;
      slots_[i].chunk = i;
    }
    left_ = layout_.chunks();
    if (left_ != 0) rooms_.take(*team().buffers, slots_.size(), members(), call.chunk);
    description_ = write_description({call.star, call.count, static_cast<std::uint32_t>(call.chunk), call.part});
    for (int to = 0; to < members(); ++to)
      team().send(to, {.data = description_.data(), .size = kStarDescriptionSize, .step = kStarAnswer, .hops = 2, .copied = true});
  }

  std::size_t expected(int, const Call&) const override { return 0; }  // the answer says that it has begun

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step == kStarDescription) return {PlaceKind::bin};
    if (piece.step != kStarContribution || !layout_.holds(piece.offset, piece.length, call_.bytes()))
      return {PlaceKind::bad};
    const std::size_t number = layout_.number_of(piece.offset);
    if (slot_of(number).chunk != number)
      return {PlaceKind::bad};  // the member lacks the sums that allow it to send this one
    return {PlaceKind::direct, rooms_.of(number, from) + (piece.offset - layout_.chunk(number).begin)};
  }

  bool arrived(int from, const PieceHeader& piece, const std::byte*) override {
    const std::size_t number = layout_.number_of(piece.offset);
    Slot& slot = slot_of(number);
    if (slot.chunk != number) return false;
    const StarLayout::Chunk chunk = layout_.chunk(number);
    std::uint32_t& got = slot.got[static_cast<std::size_t>(from)];
    got += piece.length;
    if (got > chunk.size) return false;
    if (got < chunk.size) return true;
    if (number >= slots_.size()) {
      const StarLayout::Chunk before = layout_.chunk(number - slots_.size());
      team().superseded(from, before.begin, before.size);
    }
    fold(slot, chunk);
    return true;
  }

  bool awaits(int from) const override {
    for (const Slot& slot : slots_)
      if (slot.chunk < layout_.chunks() &&
          slot.got[static_cast<std::size_t>(from)] < layout_.chunk(slot.chunk).size)
        return true;
    return false;
  }
  bool complete() const override { return left_ == 0; }
  void end() override { rooms_.give_back(); }

 private:
  struct Slot {
    std::size_t chunk = 0;           ///< the one that is added up here, or will be next
    int folded = 0;                  ///< contributions in its sum
    std::vector<std::uint32_t> got;  ///< bytes of contributions, by position
  };

  int members() const { return team().size - 1; }
  Slot& slot_of(std::size_t number) { return slots_[number % slots_.size()]; }

  /// Each partial sum goes where the contribution just added was. The last one goes to the slot's sum, which no lane reads
  /// any more: all contributions have come.
  void fold(Slot& slot, const StarLayout::Chunk& chunk) {
    for (; slot.folded < members(); ++slot.folded) {
      const int position = (chunk.block + slot.folded) % members();
      if (slot.got[static_cast<std::size_t>(position)] < chunk.size) return;
      if (slot.folded == 0) continue;
      const bool last = slot.folded == members() - 1;
      std::byte* value = rooms_.of(slot.chunk, position);
      const std::byte* sum = rooms_.of(slot.chunk, (chunk.block + slot.folded - 1) % members());
      call_.reducer.fold(sum, value, last ? rooms_.sum(slot.chunk) : value, chunk.size, chunk.begin);
    }
    hand_round(slot, chunk);
  }

  void hand_round(Slot& slot, const StarLayout::Chunk& chunk) {
    const ReadyChunk sum{.data = rooms_.sum(slot.chunk),
                         .offset = chunk.begin,
                         .size = static_cast<std::uint32_t>(chunk.size),
                         .step = kStarSum,
                         .hops = 1};
    slot.chunk += slots_.size();
    slot.folded = 0;
    std::fill(slot.got.begin(), slot.got.end(), 0);
    --left_;
    for (int to = 0; to < members(); ++to) team().send(to, sum);
  }

  Call call_;
  StarLayout layout_;
  std::array<std::byte, kStarDescriptionSize> description_{};
  std::vector<Slot> slots_;
  StarRooms rooms_;
  std::size_t left_ = 0;  ///< chunks whose sums are not final
};

}  // namespace

std::unique_ptr<Algorithm> make_star_center(const TeamView& team) { return std::make_unique<StarCenter>(team); }

}  // namespace nezha
