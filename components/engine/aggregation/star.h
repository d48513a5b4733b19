// SPDX-License-Identifier: BSD-3-Clause
/// A team's use of one aggregator: the part of each block of a large vector that goes through it. It begins when the members
/// join the aggregator and ends when one of them lacks sums (stars.h). Guarded by the engine's lock.
///
/// No contribution is lost before all members have all sums: those of a call in place are kept in memory of their own before
/// sums come over them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "alg/star_layout.h"
#include "engine/operations.h"
#include "engine/peer.h"

namespace nezha {

/// What the rails have to carry of a call after all, since a member lacks sums of it.
struct Unsummed {
  BlockPart part;
  StarLayout layout;        ///< of that part
  BufferPool::Buffer kept;  ///< the contributions, where they lie in the vector; none: they are in the call's `send`
  std::size_t final = 0;    ///< this member has the sums before here, in bytes of the vector

  /// That part as a call of its own. `call`: the one that went through an aggregator.
  Call again(const Call& call) const;
  /// The sums that this member lacked go to the call's result.
  void deliver(const Call& call) const;
};

class Star {
 public:
  /// What it knows of its team. Alike on all members but for `position`.
  struct Member {
    int members = 0;
    int position = 0;
    std::size_t chunk = 0;  ///< bytes that are reduced at once
    BufferPool* buffers = nullptr;
    std::size_t groups = 1;  ///< of the team's, that have stars at the same time
  };

  /// `trunk` to the aggregator; null: it was lost meanwhile, and this member will lack the sums of the next call.
  Star(TeamId id, Trunk* trunk, const Member& member);
  Star(const Star&) = delete;
  Star& operator=(const Star&) = delete;

  TeamId id() const { return id_; }

  // ---- a call
  /// There is a kernel for such elements.
  static bool reduces(nezha_type_t type, nezha_op_t op, std::size_t element);
  /// `call.star`: its type, operation and segment. `part` may be empty. What it does not reduce, this member lacks. `ready`: the input
  /// is, up to there; see supply().
  void begin(const Call& call, const BlockPart& part, Nanoseconds now, std::size_t ready = SIZE_MAX);
  /// The same of a small vector that goes whole, the sum of which comes to `call.recv`. There is nothing to accept(). See
  /// small_calls.h for members that lack it.
  void begin_whole(const Call& call, Nanoseconds now);
  /// The input is ready up to there, in bytes from the beginning of the vector; grows.
  void supply(std::size_t ready);
  /// The sums before here are in the result, where this member gets them.
  std::size_t final_up_to() const { return part_.from == part_.to ? SIZE_MAX : progress_.final; }
  bool under_way() const { return under_way_; }
  /// How many have begun, alike on all members.
  std::size_t calls() const { return calls_; }
  /// Goes on; true when the sums are here, or will not come. `overtaken`: another member does not wait any more.
  bool settled(Nanoseconds now, bool overtaken);
  /// This member has all sums.
  bool complete() const { return complete_; }
  /// How long they took to come.
  Nanoseconds took() const { return took_; }
  const BlockPart& part() const { return part_; }
  /// All members have all sums.
  void accept();
  /// A member lacks sums. Before the star goes.
  Unsummed take_back(const Call& call);
  /// That has happened, alike on all members.
  bool brought() const { return brought_; }

  // ---- what becomes of it
  Operations& operations() { return operations_; }
  const Operations& operations() const { return operations_; }
  const TeamView& view() const { return view_; }
  Trunk* trunk() const { return center_; }
  void moved() { moved_ = true; }
  /// The sums of what is under way, and of later calls, will not come.
  void give_up(const std::string& why);
  /// Its trunk is about to go.
  void lost();
  /// Why this member gave it up; empty: it did not.
  const std::string& why() const { return why_; }

 private:
  void reset(const BlockPart& part, Nanoseconds now);
  Call through(const Call& call);

  /// The view's positions are this member's and the aggregator's, which is its one neighbour.
  static constexpr std::array<int, 1> kNeighbours = {1};
  static constexpr std::array<int, 2> kNumbers = {-1, 0};

  const TeamId id_;
  const Member member_;
  Trunk* center_;
  TeamView view_;
  Operations operations_;
  bool dead_ = false;
  std::string why_;

  std::size_t calls_ = 0;
  bool brought_ = false;

  // The call under way.
  bool under_way_ = false;
  bool complete_ = false;
  OpNumber number_ = 0;
  BlockPart part_{0, 0};
  StarProgress progress_;
  BufferPool::Buffer kept_;
  Nanoseconds began_ = 0, took_ = 0;
  bool moved_ = false;
  Nanoseconds moved_at_ = 0;  ///< when sums last came since others do not wait any more; 0: they do
};

}  // namespace nezha
