// SPDX-License-Identifier: BSD-3-Clause
/// What a team sends through an aggregator: a part of each block of a large vector, beside an operation over the rails for
/// the rest. Guarded by the engine's lock.
///
///   out --- all members have a lane to the same aggregator: join() ---> in
///   in  --- a member lacks sums at the end of a call: leave() -------> out
///
/// Both steps follow from words that the members have combined, so that all take them at the same call. In between, a member
/// whose aggregator is lost (give_up()) takes part in nothing and says at the end of the call that it lacks sums. Then all
/// carry that part over the rails: until then no contribution is written over, since in place sums have memory of their own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/operations.h"
#include "engine/peer.h"
#include "tuning/plan.h"
#include "tuning/share_search.h"

namespace nezha {

class Star {
 public:
  /// Vectors that are worth it.
  static constexpr std::size_t kLeastBytes = 512 * 1024;

  /// Alike on all members but for `position`. `chunk`: bytes that are reduced at once; 0: chosen.
  Star(TeamId team, int members, int position, AggregatorShare share, std::size_t chunk, BufferPool& buffers);

  /// A vector of that size is to go through it, as far as the team knows. Counts, alike on all.
  bool wanted(std::size_t bytes);

  // ---- agreement
  /// Before a call that could use it. Counts them.
  bool agreement_due();
  /// `links`: this process's aggregators in the order of the parameter, null where there is no lane.
  void vote(std::span<Peer* const> links);
  std::span<std::uint64_t> words() { return words_; }
  /// By the combined words: which of the aggregators all have; none: -1.
  int common() const;
  /// Its process; that of another member shows when common() finds none.
  ProcessId process(int aggregator) const { return words_[1 + 2 * static_cast<std::size_t>(aggregator)]; }
  /// `trunk` to it, null where it was lost meanwhile: this member lacks the sums of the next call, after which all leave.
  void join(Trunk* trunk);
  /// Nothing goes through it from here on; the aggregator is told.
  void leave();
  bool in() const { return operations_.has_value(); }

  // ---- a call
  /// The part that goes through it; empty: from and to are the same.
  BlockPart part(std::size_t bytes) const;
  /// `type` without a kernel: this member lacks all.
  void begin(const Call& call, const BlockPart& part, nezha_type_t type, nezha_op_t op);
  bool under_way() const { return under_way_; }
  /// Goes on; true when the sums are here, or will not come. `overtaken`: another member does not wait any more.
  bool settled(Nanoseconds now, bool overtaken);
  /// What members combine at the end of a call, by maximum: whether one lacks sums, and the complement of how long it took: the shortest time is that of the last to come.
  std::span<std::uint64_t> confirmation(Nanoseconds took);
  bool lacking() const { return confirmation_[0] != 0; }
  /// All have all sums: they go to their places.
  void accept(const Call& call, std::size_t bytes);

  // ---- what becomes of it
  TeamId id() const { return id_; }
  Operations* operations() { return operations_ ? &*operations_ : nullptr; }
  const TeamView& view() const { return view_; }
  const Trunk* trunk() const { return in() ? center_ : nullptr; }
  Trunk* waits_for() const { return under_way_ ? center_ : nullptr; }
  bool has_begun(OpNumber op) const { return operations_->has_begun(op); }
  void moved() { moved_ = true; }
  /// The sums of what is under way will not come.
  void give_up(const std::string& why);
  /// Its trunk is about to go.
  void lost();
  /// Why this member gave its last aggregator up; empty: it did not.
  const std::string& why() const { return why_; }
  /// The share that is used for such vectors, in 65536ths.
  std::uint32_t share(std::size_t bytes) const;

 private:
  /// The view's positions are this member's and the aggregator's, which is its one neighbour.
  static constexpr std::array<int, 1> kNeighbours = {1};
  static constexpr std::array<int, 2> kNumbers = {-1, 0};

  const TeamId team_;
  const int members_, position_;
  const AggregatorShare share_;
  const std::size_t chunk_;
  BufferPool& buffers_;
  std::size_t asked_ = 0;  ///< calls that could have used it while it was out
  std::uint64_t generation_ = 0;
  TeamId id_ = 0;
  std::array<std::uint64_t, 1 + 2 * AggregatorList::kMost> words_{};
  std::array<std::uint64_t, 2> confirmation_{};
  Trunk* center_ = nullptr;
  TeamView view_;
  std::optional<Operations> operations_;
  ShareSearches searches_;

  bool dead_ = false;  ///< here, since it was joined
  std::string why_;

  // The call under way.
  bool under_way_ = false;
  bool complete_ = false;
  OpNumber number_ = 0;
  BlockPart part_;
  BufferPool::Buffer packed_;
  bool moved_ = false;
  Nanoseconds moved_at_ = 0;  ///< when sums last came since others do not wait any more; 0: they do
};

}  // namespace nezha
