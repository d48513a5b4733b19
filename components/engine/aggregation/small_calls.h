// SPDX-License-Identifier: BSD-3-Clause
/// A team's small allreduces that go whole through an aggregator, in two hops. README.md has the protocol and why it holds.
/// Guarded by the engine's lock.
///
/// Beside each call sleeps an operation over the rails, a single step with the same order of sums. A member that lacks its sum
/// wakes it, and so all members: each still has its contribution, since that is kept until all are known to have the sum.
/// At most two operations are kept. Calls are alike on all members, in their order, as MPI has it.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/agreed_kinds.h"
#include "engine/aggregation/star.h"
#include "engine/operations.h"
#include "tuning/way_trial.h"

namespace nezha {

class SmallCalls {
 public:
  /// `view`: all members, each with lanes to all others. It outlives this, and changes no more.
  SmallCalls(TeamId team, const TeamView& view);

  /// Of the operations over the rails.
  TeamId id() const { return id_; }
  Operations& operations() { return operations_; }
  const Operations& operations() const { return operations_; }
  /// Whether a call may go whole through an aggregator, as far as the team knows.
  bool can_take(const nezha_call_t& what) const;
  /// Of which kinds all members have kernels.
  AgreedKinds& kinds() { return kinds_; }
  /// For which sizes it pays.
  WayTrials& trials() { return trials_; }
  /// Whether the next call of that size is to go through an aggregator. Counts it.
  bool through(std::size_t bytes);
  /// How long that call took.
  void took(Nanoseconds time);
  /// It is to be timed.
  bool timed() const { return timed_ != nullptr; }

  // ---- a call
  /// `star` stays until the call is over.
  void begin(const Call& call, Star& star, Nanoseconds now);
  bool under_way() const { return star_ != nullptr; }
  /// Goes on; true when the sums are at the call's `recv`. `overtaken`: see Star.
  bool settled(Nanoseconds now, bool overtaken);
  /// Another operation to which all members contribute has come to its end: they have returned from the small calls before it.
  void confirmed();
  /// The star that the team has to leave by now, alike on all members, since one of them lacked a sum of it; 0: none. Once.
  TeamId take_lost() { return std::exchange(lost_, 0); }

  // ---- the end
  void fail(const Failure& failure);
  /// This member is about to leave the team: whoever may still need its contribution gets it.
  void part();
  /// Lanes, or the trunks' own memory, have what that sent, or it is `late`: nothing refers to this any more.
  bool parted(bool late);

 private:
  /// A call that some member may have no sum of.
  struct Kept {
    OpNumber number = 0;  ///< 0: none
    TeamId star = 0;
    bool woken = false;             ///< as far as is known here
    std::vector<std::byte> vector;  ///< the contribution; then the sums over the rails
  };

  Kept& latest() { return kept_[calls_ % 2]; }
  Kept& before() { return kept_[(calls_ + 1) % 2]; }
  void look(Kept& kept) const;
  void end(const std::vector<std::byte>& sums);
  void release(Kept& kept);

  const TeamId id_;
  Operations operations_;
  AgreedKinds kinds_;
  WayTrials trials_;
  WayTrial* timed_ = nullptr;  ///< that of the call under way
  std::array<Kept, 2> kept_;
  std::size_t calls_ = 0;
  TeamId lost_ = 0;

  // The call under way.
  Star* star_ = nullptr;
  std::byte* recv_ = nullptr;
  std::vector<std::byte> sums_;  ///< through the aggregator
};

}  // namespace nezha
