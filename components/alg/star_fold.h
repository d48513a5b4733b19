// SPDX-License-Identifier: BSD-3-Clause
/// What an aggregator adds up of one operation. It has all members, or those of its rack; then it stands between them and the upstream
/// aggregator, which joins the racks to a tree (star.h), and two operations share this: the climb, towards the upstream aggregator, and
/// the one towards the members.
///
/// A sum is a left fold in the ring order of its block, so an aggregator adds each run of its own contributions to the sum of all
/// those before them. The upstream aggregator brings that sum, except for the first run, and gets the longer one; where all members are
/// here, there is one run. Chunk n lies in slot n % window: room for a sum from above, for a contribution of each member, and for the
/// final sum.
///
///   the final sum of n is here   all racks have contributed to n, so they have the final sum of n - window; what was sent up of n, and
///                                the final sum of n - window, has arrived
///   a member sends n + window    it has the final sum of n; what was sent to it of n has arrived
///
/// The upstream aggregator may begin n + window with another rack while the final sum of n is still on its way here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "alg/call.h"
#include "alg/star_cover.h"
#include "alg/star_layout.h"
#include "alg/star_rooms.h"

namespace nezha {

class StarFold {
 public:
  // ---- the climb
  /// `call.star.holders` is complete when the upstream aggregator has answered.
  void begin_climb(const Call& call, const TeamView& upstream);
  /// Passes on what a member says: its description and, of a vector that goes whole, its contribution.
  void describe(std::span<const std::byte> words);
  /// All members of all racks have described the operation; of a vector that goes whole the sum is here.
  bool answered() const { return answered_; }
  Placement place_from_above(const PieceHeader& piece) const;
  void arriving_from_above(const PieceHeader& piece);
  bool arrived_from_above(const PieceHeader& piece, const std::byte* data);
  /// Of a vector that goes whole.
  std::byte* sum() { return sum_.data(); }

  // ---- towards the members
  /// All of them are here: there is no climb.
  void begin_alone(const Call& call);
  /// Once the climb is answered, or there is none.
  void begin_members(const TeamView& members);
  Placement place_from_member(int from, const PieceHeader& piece) const;
  bool arrived_from_member(int from, const PieceHeader& piece);

  // ---- all
  /// All final sums have been handed to the members.
  bool complete() const { return answered_ && left_ == 0; }
  /// One of the operations is over; after the last one the memory is given back.
  void end();

 private:
  struct Slot {
    /// The next one to be added up here. What has come of it from above stays.
    void use_for(std::size_t number);

    std::size_t chunk = 0;             ///< the one that is added up here, or will be next
    int have = 0;                      ///< contributions in `value`, of all racks
    const std::byte* value = nullptr;  ///< null: none
    std::vector<std::uint32_t> got;    ///< bytes of contributions, by member
    std::uint32_t final = 0;           ///< bytes of the final sum from above
    std::size_t prefix_of = 0;         ///< chunk of the sum from above, this one or the next one here
    int prefix = 0;                    ///< contributions in it; 0: none has begun to come
    std::uint32_t prefix_got = 0;      ///< bytes
  };

  int contributions() const { return static_cast<int>(call_.star.members); }
  /// The member that comes after `have` others in the block's order; negative: it is another rack's.
  int holder(int block, int have) const { return call_.star.holder(block, have); }
  /// How many come before the next one of a member here; all: none is left.
  int next_own(int block, int have) const;
  void cut(const Call& call);
  std::size_t index_of(std::size_t number) const { return number % slots_.size(); }
  std::size_t index_of(std::size_t number, int member) const {
    return index_of(number) * static_cast<std::size_t>(members_) + static_cast<std::size_t>(member);
  }
  Slot& slot_of(std::size_t number) { return slots_[index_of(number)]; }
  const Slot& slot_of(std::size_t number) const { return slots_[index_of(number)]; }
  std::byte* prefix_room(std::size_t number) const { return prefixes_.data() + index_of(number) * call_.chunk; }
  bool takes_prefix(const Slot& slot, std::size_t number, int have) const;
  void take_prefix(Slot& slot);
  void go_on(Slot& slot, const StarLayout::Chunk& chunk);
  void send_up(const Slot& slot, const StarLayout::Chunk& chunk);
  void superseded_above(std::size_t number);
  void hand_round(Slot& slot, const StarLayout::Chunk& chunk);

  Call call_;
  StarLayout layout_;
  const TeamView* upstream_ = nullptr;
  const TeamView* here_ = nullptr;  ///< the members' operation; null: it has not begun
  int members_ = 0;                 ///< here
  bool alone_ = false;              ///< all members are here
  bool answered_ = false;
  int users_ = 0;
  std::deque<std::vector<std::byte>> said_;  ///< what is passed on
  std::vector<std::byte> sum_;
  std::vector<Slot> slots_;
  BufferPool::Buffer prefixes_;
  StarRooms rooms_;
  StarCover prefixes_got_, finals_got_;  ///< by slot
  StarCover contributions_got_;          ///< by slot and member
  std::size_t left_ = 0;  ///< chunks whose final sums are not here
};

}  // namespace nezha
