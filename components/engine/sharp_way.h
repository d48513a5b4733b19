// SPDX-License-Identifier: BSD-3-Clause
/// A way beside the rails for the end of a team's large vectors: the SHARP library.
///
///   untried --- the first call that could use it, all members have a group ---> open
///   untried, open --- a member has no group, or lacks sums at the end of a call ---> gone, for good
///
/// Both steps follow from words that the members have combined. The sums of what goes through it have an order of their own. The
/// rails always carry some bytes of a call: when that operation ends, all members have begun the call, so that a library
/// that is silent from then on is at fault. Guarded by the engine's lock, but for begin(), take() and close().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/agreed_kinds.h"
#include "nezha/nezha.h"
#include "sharp/sharp_group.h"
#include "tuning/share_search.h"
#include "util/aggregator_list.h"
#include "util/clock.h"

namespace nezha {

class SharpWay {
 public:
  explicit SharpWay(AggregatorShare share) : searches_(share) {}

  /// That call can go through it, as far as the team knows.
  bool suits(const nezha_call_t& call) const;
  /// And is to. Counts, alike on all.
  bool wanted(const nezha_call_t& call) { return !searches_.idle(call.count * call.element); }
  /// Which kinds of calls it has on all members.
  AgreedKinds& kinds() { return kinds_; }
  /// It has this member's type and operation.
  bool has(const nezha_call_t& call) const;
  bool untried() const { return state_ == State::untried; }
  bool open() const { return state_ == State::open; }
  /// Null: some member has none. `types` and `ops`: bits of what all have.
  void opened(std::unique_ptr<SharpGroup> group, std::uint64_t types, std::uint64_t ops);
  /// Not used any more. Returns the group, to be closed without the lock.
  std::unique_ptr<SharpGroup> leave();

  // ---- a call
  /// How many elements the rails carry, from the vector's beginning on.
  std::size_t rest(const nezha_call_t& call) const;
  void begin(std::span<const std::byte> from, const nezha_call_t& call);
  /// The sums are here, or will not come. `carried`: the rails' part has ended.
  bool settled(Nanoseconds now, bool carried);
  /// What members combine by maximum at the end: whether one lacks sums, and the complement of how long it took: the shortest
  /// time is that of the last to come.
  std::span<std::uint64_t> confirmation(Nanoseconds took);
  bool lacking() const { return confirmation_[0] != 0; }
  void took(std::size_t bytes) { searches_.took(bytes, static_cast<Nanoseconds>(~confirmation_[1])); }
  void take(std::span<std::byte> to) const { group_->take(to); }
  /// Of this member's library; ok: it did what it was to do.
  const Status& trouble() const { return trouble_; }

 private:
  enum class State { untried, open, gone };

  State state_ = State::untried;
  std::unique_ptr<SharpGroup> group_;
  std::uint64_t types_ = ~std::uint64_t{0}, ops_ = ~std::uint64_t{0};
  AgreedKinds kinds_;
  ShareSearches searches_;
  std::array<std::uint64_t, 2> confirmation_{};

  // The call under way.
  Status trouble_;
  bool under_way_ = false;
  std::size_t bytes_ = 0;
  Nanoseconds carried_at_ = 0;  ///< when the rails' part had ended; 0: it has not
};

}  // namespace nezha
