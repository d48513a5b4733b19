// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/small_calls.h"

#include <cstring>
#include <utility>

namespace nezha {
namespace {

constexpr TeamId kOverRails = 0x9fb21c651e98df25;
constexpr const char* kLacked = "another rank lacked a sum of it";

}  // namespace

SmallCalls::SmallCalls(TeamId team, const TeamView& view) : id_(team ^ kOverRails), operations_(view, 0) {
  operations_.set_team(id_);
}

bool SmallCalls::can_take(const nezha_call_t& what) const {
  return what.count * what.element <= kLargestWhole && kinds_.of(what.element, what.op) != AgreedKinds::Answer::not_all;
}

bool SmallCalls::through(std::size_t bytes) {
  timed_ = &trials_.of(bytes);
  return timed_->through();
}

void SmallCalls::took(Nanoseconds time) {
  if (timed_ != nullptr) std::exchange(timed_, nullptr)->took(time);
}

void SmallCalls::begin(const Call& call, Star& star, Nanoseconds now) {
  ++calls_;
  star_ = &star;
  recv_ = call.recv;
  sums_.resize(call.bytes());
  look(before());
  if (before().woken && before().star == star.id()) star.give_up(kLacked);
  Call whole = call;
  whole.recv = sums_.data();
  star.begin_whole(whole, now);
  Kept& kept = latest();
  kept.star = star.id();
  kept.woken = false;
  kept.vector.assign(call.send, call.send + call.bytes());
  Call sleeping = call;
  sleeping.send = sleeping.recv = kept.vector.data();
  sleeping.chunk = call.bytes();
  sleeping.asleep = true;
  kept.number = operations_.start(sleeping, AlgorithmChoice::single_step);
}

/// An operation that has ended was woken.
void SmallCalls::look(Kept& kept) const {
  if (kept.number == 0 || kept.woken) return;
  const Operation* operation = operations_.find(kept.number);
  kept.woken = operation == nullptr || operation->algorithm().awake();
}

/// A woken operation needs no aggregator, and no later call on the same star will get its sum from it.
bool SmallCalls::settled(Nanoseconds now, bool overtaken) {
  if (!under_way()) return true;
  Kept& kept = latest();
  look(kept);
  look(before());
  if (kept.woken || (before().woken && before().star == kept.star)) star_->give_up(kLacked);
  if (!star_->settled(now, overtaken || operations_.overtaken())) return false;
  if (star_->complete()) return end(sums_), true;
  if (Operation* operation = operations_.find(kept.number)) operation->algorithm().wake();
  kept.woken = true;
  if (!operations_.finished(kept.number)) return false;
  end(kept.vector);
  return true;
}

/// Whoever has these sums, by whatever way, knows that all members have begun this call, and so have those of the one before.
void SmallCalls::end(const std::vector<std::byte>& sums) {
  std::memcpy(recv_, sums.data(), sums.size());
  star_ = nullptr;
  release(before());
}

void SmallCalls::release(Kept& kept) {
  look(kept);
  if (kept.woken) lost_ = kept.star;
  if (kept.number != 0) operations_.drop(kept.number);
  kept.number = 0;
  kept.woken = false;
}

void SmallCalls::confirmed() {
  if (!under_way()) release(latest());
}

void SmallCalls::fail(const Failure& failure) {
  operations_.fail(failure);
  star_ = nullptr;
  for (Kept& kept : kept_) kept.number = 0;
}

/// Whoever has returned from a call knows that all have begun it. They could not say so any more: nobody hears of this team.
void SmallCalls::part() {
  Operation* const operation = latest().number == 0 ? nullptr : operations_.find(latest().number);
  if (operation == nullptr) return;
  operations_.all_have_begun(latest().number);
  operation->algorithm().wake();
}

bool SmallCalls::parted(bool late) {
  if (!late && !operations_.handed_over()) return false;
  release(latest());
  return true;
}

}  // namespace nezha
