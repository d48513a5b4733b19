// SPDX-License-Identifier: BSD-3-Clause
/// The operations of one team: they are numbered in the order of the calls, which is the same on all members, and up to
/// kMostUnderWay of them are under way at once. Guarded by the engine's lock.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/operation.h"

namespace nezha {

class Operations {
 public:
  /// `view`: its flows are not used, and it outlives this. It may change until the first operation, and have trunks that are
  /// null: members that have not come yet. They count from `before` + 1.
  Operations(const TeamView& view, OpNumber before);

  /// How many neighbours the view has, or is about to have. Before the first operation.
  void note_neighbours(std::size_t count) { peers_.assign(count, {}); }
  /// The team has an id. Before the first operation.
  void set_team(TeamId team) { team_ = team; }

  // ---- calls
  const TeamView& view() const { return view_; }
  /// Another one may begin: that so many before it has ended.
  bool room() const { return begun_ - ended_ < kMostUnderWay; }
  OpNumber start(const Call& call, AlgorithmChoice choice);
  /// The number that the next one gets.
  OpNumber next() const { return begun_ + 1; }
  /// A call that Open MPI's own allreduce carries counts too: pieces of it come from ranks that decided otherwise, since their
  /// calls differ.
  void leave_to_incumbent(std::size_t bytes);
  /// Go on towards the end of that one, or of all; true when it, or all, have ended.
  bool finished(OpNumber number) {
    Operation* operation = find(number);
    if (operation == nullptr) return true;
    if (!operation->ended()) return false;
    release(number);
    return true;
  }
  bool finished();
  bool active() const { return under_way_ != 0; }
  /// One that is under way needs something of that neighbour which has not come: bytes, or acknowledgements.
  bool awaits(std::size_t neighbour) const;
  /// A neighbour has begun one that has not begun here.
  bool overtaken() const;
  /// That one ends without a result, since all members have begun it and none needs anything of it.
  void drop(OpNumber number);
  /// See Operation.
  bool handed_over() const;
  /// All that are under way end without a result; the members are told who gave up.
  void fail(const Failure& failure);
  /// Of the vector of a recent one.
  std::size_t bytes_of(OpNumber number) const { return slot_of(number).bytes; }

  // ---- what the trunks bring, by the sender's number among the neighbours
  bool has_begun(OpNumber number) const { return number <= begun_; }
  void peer_at(std::size_t neighbour, OpNumber begun, OpNumber ended);
  /// What all neighbours have begun by now, known otherwise than by their records. It may be one that has not begun here.
  void all_have_begun(OpNumber number);
  Placement place(std::size_t from, const PieceHeader& piece) const;
  /// Null: nobody needs the piece any more.
  Operation* find(OpNumber number) const {
    const Slot& slot = slot_of(number);
    return slot.number == number ? slot.operation : nullptr;
  }

 private:
  struct Slot {
    OpNumber number = 0;
    std::size_t bytes = 0;
    bool incumbent = false;          ///< it is left to the incumbent
    Operation* operation = nullptr;  ///< null: it has ended
  };
  struct Progress {
    OpNumber begun = 0, ended = 0;
  };

  const Slot& slot_of(OpNumber number) const { return slots_[number % kMostUnderWay]; }
  Slot& slot_of(OpNumber number) { return slots_[number % kMostUnderWay]; }
  Operation& idle_one();
  void release(OpNumber number);
  void begun(std::size_t bytes, Operation* operation);
  void note_ended();

  const TeamView& view_;
  TeamId team_ = 0;
  OpNumber begun_;  ///< the latest that has begun here
  OpNumber ended_;  ///< this one and all before it have ended here
  std::array<Slot, kMostUnderWay> slots_;  ///< by number
  std::size_t under_way_ = 0;
  std::vector<Progress> peers_;  ///< by neighbour, as far as is known
  std::vector<std::unique_ptr<Operation>> all_;
  std::vector<Operation*> idle_;  ///< has room for all; the last one ended is the next one used
};

}  // namespace nezha
