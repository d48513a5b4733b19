// SPDX-License-Identifier: BSD-3-Clause
/// The upstream aggregator's side of an allreduce through a tree (star.h). It adds up nothing: it takes each sum of the first n
/// contributions from the rack that has the n-th one to the rack that has the next one, and the final sum to all other racks.
///
/// Chunk n lies in slot n % window: room for a sum of each rack, and for the final sum. A rack that sends something of chunk
/// n + window has the final sum of n, and whatever of n it was sent before. So its room is free, and when the final sum of n + window
/// comes, all racks have sent something of n + window and the old final sum is. The rack that completed chunk n may send a sum of
/// n + window before the final sum of n is here.
#include <algorithm>
#include <utility>
#include <vector>

#include "alg/algorithm.h"
#include "alg/star_chunks.h"
#include "alg/star_layout.h"
#include "alg/star_rooms.h"

namespace nezha {
namespace {

class StarUpstream final : public Algorithm {
 public:
  using Algorithm::Algorithm;

  void begin(const Call& call) override {
    call_ = call;
    layout_.cut(call);
    left_ = racks() == 1 ? 0 : layout_.chunks();  // one that has all members adds them up itself
    slots_.assign(std::min<std::size_t>(call.star.window, left_), {});
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].chunk = i;
    got_.begin(2 * slots_.size(), call.chunk);
    if (left_ != 0) rooms_.take(*team().buffers, slots_.size(), racks(), call.chunk);
    answer_.send(team(), call, 3);
  }

  std::size_t expected(int, const Call&) const override { return 0; }  // the answer says that it has begun

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step == kStarDescription) return {PlaceKind::bin};
    if (left_ == 0 || piece.step < kStarPartial || !layout_.holds(piece.offset, piece.length, call_.bytes()))
      return {PlaceKind::bad};
    const std::size_t number = layout_.number_of(piece.offset);
    if (!due(from, number, piece.step - kStarPartial)) return {PlaceKind::bad};
    const StarLayout::Chunk chunk = layout_.chunk(number);
    const std::size_t within = piece.offset - chunk.begin;
    if (!got_.lacks(index_of(number), within, piece.length, chunk.size)) return {PlaceKind::bad};
    const bool last = piece.step - kStarPartial == contributions();
    std::byte* const room = last ? rooms_.sum(number) : rooms_.of(number, from);
    return {PlaceKind::direct, room + within, true};
  }

  void arriving(int from, const PieceHeader& piece) override {
    const std::size_t number = layout_.number_of(piece.offset);
    superseded(from, number);
    if (number >= slots_.size()) superseded(from, number - slots_.size());
  }

  bool arrived(int from, const PieceHeader& piece, const std::byte*) override {
    const std::size_t number = layout_.number_of(piece.offset);
    if (!due(from, number, piece.step - kStarPartial)) return false;
    Slot& slot = slot_of(number);
    std::uint32_t& got = slot.chunk == number ? slot.got : slot.next_got;
    if (!count_piece(got_, index_of(number), got, piece, layout_.chunk(number))) return false;
    if (slot.chunk == number) pass_on(slot);
    return true;
  }

  bool complete() const override { return left_ == 0; }
  void end() override { rooms_.give_back(); }

 private:
  struct Slot {
    std::size_t chunk = 0;       ///< whose sum is on its way here, or will be next
    int have = 0;                ///< contributions in what has been passed on
    std::uint32_t got = 0;       ///< bytes of the sum that comes now
    std::uint32_t next_got = 0;  ///< and of the first one of the slot's next chunk
  };

  int racks() const { return team().size - 1; }
  int contributions() const { return static_cast<int>(call_.star.members); }
  int holder(int block, int have) const { return call_.star.holder(block, have); }
  /// How many contributions there are when the rack that has the next one has added its run.
  int run_end(int block, int have) const {
    const int rack = holder(block, have);
    while (have < contributions() && holder(block, have) == rack) ++have;
    return have;
  }
  Slot& slot_of(std::size_t number) { return slots_[number % slots_.size()]; }
  /// Something of a slot's next chunk may be here while this one is not complete.
  std::size_t index_of(std::size_t number) const { return number % (2 * slots_.size()); }

  /// That rack's sum of the first `have` contributions to the chunk is what comes next. In the slot's next chunk it may be so only
  /// where the final sum of this one is this rack's: another rack could have it from here alone, and its room is still read.
  bool due(int from, std::size_t number, int have) {
    const Slot& slot = slot_of(number);
    if (number == slot.chunk) return adds(from, number, slot.have, have);
    return number == slot.chunk + slots_.size() && adds(from, slot.chunk, slot.have, contributions()) &&
           adds(from, number, 0, have);
  }
  /// That rack has the contributions to the chunk that come after `before` others, up to `have`.
  bool adds(int from, std::size_t number, int before, int have) const {
    const int block = layout_.chunk(number).block;
    return holder(block, before) == from && run_end(block, before) == have;
  }

  void superseded(int rack, std::size_t number) {
    const StarLayout::Chunk chunk = layout_.chunk(number);
    team().superseded(rack, chunk.begin, chunk.size);
  }

  /// The sum that came last, once it is whole.
  void pass_on(Slot& slot) {
    const StarLayout::Chunk chunk = layout_.chunk(slot.chunk);
    if (slot.got != chunk.size) return;
    const int from = holder(chunk.block, slot.have);
    slot.have = run_end(chunk.block, slot.have);
    slot.got = 0;
    got_.clear(index_of(slot.chunk));
    if (slot.have == contributions()) return hand_round(slot, chunk, from);
    team().send(holder(chunk.block, slot.have), partial_sum(chunk, rooms_.of(slot.chunk, from), slot.have));
  }

  void hand_round(Slot& slot, const StarLayout::Chunk& chunk, int from) {
    const ReadyChunk sum = final_sum(chunk, rooms_.sum(slot.chunk));
    for (int to = 0; to < racks(); ++to)
      if (to != from) team().send(to, sum);
    --left_;
    slot.chunk += slots_.size();
    slot.have = 0;
    slot.got = std::exchange(slot.next_got, 0);
    if (slot.got != 0) pass_on(slot);
  }

  Call call_;
  StarLayout layout_;
  StarAnswer answer_;
  std::vector<Slot> slots_;
  StarRooms rooms_;
  StarCover got_;         ///< by chunk: the sum that comes now
  std::size_t left_ = 0;  ///< chunks whose final sums are not here
};

}  // namespace

std::unique_ptr<Algorithm> make_star_upstream(const TeamView& team) { return std::make_unique<StarUpstream>(team); }

}  // namespace nezha
