// SPDX-License-Identifier: BSD-3-Clause
#include "alg/star_fold.h"

#include <algorithm>
#include <utility>

#include "alg/star_chunks.h"

namespace nezha {
namespace {

/// In the view of the climb, which has this process and the upstream aggregator alone.
constexpr int kUpstream = kStarCenter;

}  // namespace

void StarFold::Slot::use_for(std::size_t number) {
  chunk = number;
  have = 0;
  value = nullptr;
  final = 0;
  std::fill(got.begin(), got.end(), 0);
}

void StarFold::cut(const Call& call) {
  layout_.cut(call);
  left_ = layout_.chunks();
  slots_.resize(std::min<std::size_t>(call.star.window, left_));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].use_for(i);
    slots_[i].prefix = 0;
    slots_[i].prefix_got = 0;
  }
  prefixes_got_.begin(slots_.size(), call.chunk);
  finals_got_.begin(slots_.size(), call.chunk);
}

// ---- the climb

void StarFold::begin_climb(const Call& call, const TeamView& upstream) {
  call_ = call;
  upstream_ = &upstream;
  here_ = nullptr;
  answered_ = alone_ = false;
  users_ = 1;
  left_ = 0;
  if (call.star.whole) return;
  cut(call);
  if (left_ != 0) prefixes_ = upstream.buffers->take(slots_.size() * call.chunk);
}

void StarFold::describe(std::span<const std::byte> words) {
  const std::vector<std::byte>& kept = said_.emplace_back(words.begin(), words.end());
  upstream_->send(kUpstream, {.data = kept.data(),
                              .size = static_cast<std::uint32_t>(kept.size()),
                              .step = call_.star.whole ? kStarWhole : kStarDescription,
                              .hops = 3});
}

Placement StarFold::place_from_above(const PieceHeader& piece) const {
  const bool whole = call_.star.whole;
  if (whole || piece.step == kStarAnswer) {
    const bool right = piece.step == (whole ? kStarSum : kStarAnswer) && piece.offset == 0 &&
                       piece.length == (whole ? call_.bytes() : kStarDescriptionSize);
    return {right && !answered_ ? PlaceKind::scratch : PlaceKind::bad};
  }
  if (!layout_.holds(piece.offset, piece.length, call_.bytes())) return {PlaceKind::bad};
  const std::size_t number = layout_.number_of(piece.offset);
  const StarLayout::Chunk chunk = layout_.chunk(number);
  const Slot& slot = slot_of(number);
  const std::size_t within = piece.offset - chunk.begin;
  const StarCover& cover = piece.step == kStarSum ? finals_got_ : prefixes_got_;
  if (!cover.lacks(index_of(number), within, piece.length, chunk.size)) return {PlaceKind::bad};
  if (piece.step != kStarSum)
    return takes_prefix(slot, number, piece.step - kStarPartial)
               ? Placement{PlaceKind::direct, prefix_room(number) + within}
               : Placement{PlaceKind::bad};
  const bool due = here_ != nullptr && slot.chunk == number && next_own(chunk.block, slot.have) == contributions();
  return due ? Placement{PlaceKind::direct, rooms_.sum(number) + within, true} : Placement{PlaceKind::bad};
}

/// The final sum is about to be written where the one of the slot's chunk before was.
void StarFold::arriving_from_above(const PieceHeader& piece) {
  const std::size_t number = layout_.number_of(piece.offset);
  if (number >= slots_.size()) superseded_above(number - slots_.size());
}

bool StarFold::arrived_from_above(const PieceHeader& piece, const std::byte* data) {
  if (piece.step == kStarAnswer || call_.star.whole) {
    if (answered_) return false;
    if (call_.star.whole) sum_.assign(data, data + piece.length);
    return answered_ = true;
  }
  const std::size_t number = layout_.number_of(piece.offset);
  Slot& slot = slot_of(number);
  const StarLayout::Chunk chunk = layout_.chunk(number);
  if (piece.step == kStarSum) {
    if (slot.chunk != number || !count_piece(finals_got_, index_of(number), slot.final, piece, chunk)) return false;
    if (slot.final < chunk.size) return true;
    superseded_above(number);
    hand_round(slot, chunk);
    return true;
  }
  const int have = piece.step - kStarPartial;
  if (!takes_prefix(slot, number, have)) return false;
  slot.prefix_of = number;
  slot.prefix = have;
  if (!count_piece(prefixes_got_, index_of(number), slot.prefix_got, piece, chunk)) return false;
  take_prefix(slot);
  return true;
}

/// The sum of the first `have` contributions to that chunk, to which those of the members here are to be added next.
bool StarFold::takes_prefix(const Slot& slot, std::size_t number, int have) const {
  const bool next = number == slot.chunk + slots_.size();
  if (have < 1 || (number != slot.chunk && !next)) return false;
  if (next && next_own(layout_.chunk(slot.chunk).block, slot.have) != contributions()) return false;
  if (slot.prefix != 0 && (slot.prefix_of != number || slot.prefix != have)) return false;
  const int block = layout_.chunk(number).block, before = next ? 0 : slot.have;
  return have < contributions() && holder(block, before) < 0 && next_own(block, before) == have;
}

void StarFold::take_prefix(Slot& slot) {
  if (slot.prefix == 0 || slot.prefix_of != slot.chunk || here_ == nullptr) return;
  const StarLayout::Chunk chunk = layout_.chunk(slot.chunk);
  if (slot.prefix_got != chunk.size) return;
  slot.have = std::exchange(slot.prefix, 0);
  slot.prefix_got = 0;
  prefixes_got_.clear(index_of(slot.chunk));
  slot.value = prefix_room(slot.chunk);
  go_on(slot, chunk);
}

// ---- towards the members

void StarFold::begin_alone(const Call& call) {
  call_ = call;
  answered_ = true;
  users_ = 0;
  cut(call);
}

void StarFold::begin_members(const TeamView& members) {
  ++users_;
  here_ = &members;
  members_ = members.size - 1;
  alone_ = std::all_of(call_.star.holders.begin(), call_.star.holders.end(), [](int member) { return member >= 0; });
  if (left_ != 0) rooms_.take(*members.buffers, slots_.size(), members_, call_.chunk);
  contributions_got_.begin(slots_.size() * static_cast<std::size_t>(members_), call_.chunk);
  for (Slot& slot : slots_) {
    slot.got.assign(static_cast<std::size_t>(members_), 0);
    take_prefix(slot);
  }
}

Placement StarFold::place_from_member(int from, const PieceHeader& piece) const {
  if (piece.step != kStarContribution || !layout_.holds(piece.offset, piece.length, call_.bytes()))
    return {PlaceKind::bad};
  const std::size_t number = layout_.number_of(piece.offset);
  if (slot_of(number).chunk != number) return {PlaceKind::bad};  // it lacks the sums that allow it to send this one
  const StarLayout::Chunk chunk = layout_.chunk(number);
  const std::size_t within = piece.offset - chunk.begin;
  if (!contributions_got_.lacks(index_of(number, from), within, piece.length, chunk.size)) return {PlaceKind::bad};
  return {PlaceKind::direct, rooms_.of(number, from) + within};
}

bool StarFold::arrived_from_member(int from, const PieceHeader& piece) {
  const std::size_t number = layout_.number_of(piece.offset);
  Slot& slot = slot_of(number);
  if (slot.chunk != number) return false;
  const StarLayout::Chunk chunk = layout_.chunk(number);
  std::uint32_t& got = slot.got[static_cast<std::size_t>(from)];
  if (!count_piece(contributions_got_, index_of(number, from), got, piece, chunk)) return false;
  if (got < chunk.size) return true;
  if (number >= slots_.size()) {
    const StarLayout::Chunk before = layout_.chunk(number - slots_.size());
    here_->superseded(from, before.begin, before.size);
  }
  go_on(slot, chunk);
  return true;
}

// ---- sums

int StarFold::next_own(int block, int have) const {
  while (have < contributions() && holder(block, have) < 0) ++have;
  return have;
}

/// Adds what has come of the run that is next. Each partial sum goes where the contribution just added was; the final one to the
/// slot's sum.
void StarFold::go_on(Slot& slot, const StarLayout::Chunk& chunk) {
  const int before = slot.have;
  while (slot.have < contributions()) {
    const int member = holder(chunk.block, slot.have);
    if (member < 0) {
      if (slot.have != before) send_up(slot, chunk);
      return;
    }
    if (slot.got[static_cast<std::size_t>(member)] < chunk.size) return;
    std::byte* value = rooms_.of(slot.chunk, member);
    if (++slot.have == contributions()) {
      if (slot.chunk >= slots_.size()) superseded_above(slot.chunk - slots_.size());
      std::byte* const final = rooms_.sum(slot.chunk);
      call_.reducer.fold(slot.value, value, final, chunk.size, chunk.begin);
      value = final;
    } else if (slot.value != nullptr) {
      call_.reducer.fold(slot.value, value, value, chunk.size, chunk.begin);
    }
    slot.value = value;
  }
  superseded_above(slot.chunk);
  send_up(slot, chunk);
  hand_round(slot, chunk);
}

void StarFold::send_up(const Slot& slot, const StarLayout::Chunk& chunk) {
  if (!alone_) upstream_->send(kUpstream, partial_sum(chunk, slot.value, slot.have));
}

void StarFold::superseded_above(std::size_t number) {
  if (alone_) return;
  const StarLayout::Chunk chunk = layout_.chunk(number);
  upstream_->superseded(kUpstream, chunk.begin, chunk.size);
}

/// The sum for the slot's next chunk may be here already.
void StarFold::hand_round(Slot& slot, const StarLayout::Chunk& chunk) {
  const ReadyChunk sum = final_sum(chunk, rooms_.sum(slot.chunk));
  finals_got_.clear(index_of(slot.chunk));
  contributions_got_.clear(index_of(slot.chunk, 0), static_cast<std::size_t>(members_));
  slot.use_for(slot.chunk + slots_.size());
  --left_;
  for (int to = 0; to < members_; ++to) here_->send(to, sum);
  take_prefix(slot);
}

void StarFold::end() {
  if (--users_ != 0) return;
  prefixes_.give_back();
  rooms_.give_back();
  said_.clear();
}

}  // namespace nezha
