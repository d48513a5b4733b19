// SPDX-License-Identifier: BSD-3-Clause
/// How a call ends: with a result that is checked, or a failure; and what its memory is used for afterwards.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "caller.h"
#include "engine/combine.h"
#include "world.h"

namespace nezha::test {
namespace {

constexpr Nanoseconds kIncumbentTime = 5 * kMillisecond;  ///< at most
constexpr std::size_t kWatched = 24;                      ///< results that are looked at again later

}  // namespace

/// Looks whether calls that do not block have ended.
bool Caller::poll_pending() {
  bool any = false;
  for (std::size_t i = 0; i < pending_.size();) {
    if (!over(*process_.team(call_of(pending_[i]).team), pending_[i].started)) {
      ++i;
      continue;
    }
    Pending pending = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    end_pending(pending);
    any = true;
  }
  return any;
}

void Caller::end_pending(Pending& pending) {
  const Team& team = *process_.team(call_of(pending).team);
  process_.operation_ends();
  if (team.error().empty()) return end_call(pending.at, pending.way, pending.vectors);
  leave_memory(pending.vectors);
  world_.call_failed(pending.at, team.error(), pending.began);
}

const CallSpec& Caller::call_of(const Pending& pending) const { return world_.program().calls[pending.at]; }

bool Caller::has_pending(std::size_t team) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const Pending& each) { return call_of(each).team == team; });
}

void Caller::operation_over() {
  Team& team = *process_.team(call().team);
  process_.operation_ends();
  if (!team.error().empty()) return fail_call();
  if (state_ == State::operating) {
    if (!lost_.empty()) {
      lost_.back().deliver(what_);
      lost_.pop_back();
    }
    if (std::exchange(divided_, false) && team.share_due(what_)) {
      state_ = State::sharing;
      return start_shared(combine(team.share_words(world_.network().now() - began_), NEZHA_MAX), team.agreement_algorithm());
    }
    return carry_lost();
  }
  if (state_ == State::sharing) {
    team.share_combined(what_);
    return finish();
  }
  if (state_ == State::confirming) return confirmed();
  if (state_ == State::asking) {
    process_.core().small_agreed(team, allreduce_call());
    return think(0);
  }
  if (state_ == State::joining) {
    process_.core().join_stars(team, process_.core().aggregators());
    return team.stars()->in() ? begin_stars(way_) : begin_operation(way_);
  }
  if (team.rates_due(call().collective, call().bytes(), call().element)) {
    team.take_rates();
    process_.core().sample(team, call().bytes());
    return think(0);
  }
  team.table(call().collective).agreed();
  think(0);
}

/// The team has failed, and with it all its calls.
void Caller::fail_call() {
  poll_pending();
  constexpr State kInCall[] = {State::operating, State::aggregating, State::small, State::confirming, State::sharing};
  if (std::find(std::begin(kInCall), std::end(kInCall), state_) != std::end(kInCall)) leave_memory(vectors_);
  world_.call_failed(at_, process_.team(call().team)->error(), began_);
  lost_.clear();
  process_.destroy_team(call().team);
  failed_.insert(call().team);
  next_call();
}

/// The table's words are combined by an operation of the team.
void Caller::agree() {
  Team& team = *process_.team(call().team);
  state_ = State::agreeing;
  began_ = world_.network().now();
  const Call words = team.agreement(call().collective, call().bytes(), call().element);
  if (team.agrees_in_memory())
    start_shared(words, team.agreement_algorithm());
  else
    start_flat(words, team.agreement_algorithm());
}

/// Somebody else's allreduce: it takes its time and is right.
void Caller::leave_to_incumbent() {
  const int rank = rank_in(call());
  const Range range = result_at(call(), rank);
  const Bytes& all = world_.expected(at_, how_);
  Bytes& result = call().in_place_at(rank) ? vectors_.send : vectors_.recv;
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(range.begin), range.bytes, result.begin());
  state_ = State::incumbent;
  Team& team = *process_.team(call().team);
  if (!team.within_node()) process_.core().leave_to_incumbent(team, call().bytes());
  const Nanoseconds time = world_.setting().random.between(0, kIncumbentTime);
  until_ = world_.network().now() + time;
  world_.network().after(time, [this] { process_.wake(); });
}

void Caller::finish() {
  Team& team = *process_.team(call().team);
  const Nanoseconds took = world_.network().now() - began_;
  const bool allreduce = call().collective == Collective::allreduce;
  const bool served = team.serves(call().collective, call().counts.data());
  if (state_ != State::small && !call().nonblocking && Team::learns(call().collective) && served)
    team.table(call().collective).took(took);
  if (chose_ && may_go_small()) team.small()->took(took);
  if (allreduce && state_ != State::small && state_ != State::incumbent) process_.core().small_confirmed(team);
  end_call(at_, how_, vectors_);
  state_ = State::draining;
  if (!call().last || !has_pending(call().team)) go_on();
}

void Caller::end_call(std::size_t at, const Carried& way, Vectors& vectors) {
  const CallSpec& call = world_.program().calls[at];
  const int rank = rank_in(call);
  const bool in_place = call.in_place_at(rank);
  const Range range = result_at(call, rank);
  const auto wanted = world_.expected(at, way).begin() + static_cast<std::ptrdiff_t>(range.begin);
  const Bytes& result = in_place ? vectors.send : vectors.recv;
  check(Bytes(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(range.bytes)),
        Bytes(wanted, wanted + static_cast<std::ptrdiff_t>(range.bytes)), "the result");
  if (!in_place) check(vectors.send, vectors.given, "the source after the call");
  leave_memory(vectors);
  world_.call_done(at, way);
}

/// To the next call.
void Caller::go_on() {
  if (at_ < world_.program().calls.size()) {
    if (call().last) process_.destroy_team(call().team);
    ++at_;
  }
  next_call();
  if (state_ != State::thinking) return;
  Setting& setting = world_.setting();
  const bool thinks = setting.thinker < 0 || setting.thinker == process_.rank();
  const Nanoseconds longest = thinks ? setting.longest_thought : 0;
  SimRandom& random = setting.random;
  think(longest == 0 || random.chance(0.5) ? 0 : random.between(0, longest));
}

/// From here on the memory is the application's. Either it changes it at once, or it finds it as it was left.
void Caller::leave_memory(Vectors& vectors) {
  if (world_.setting().random.chance(0.7)) {
    std::fill(vectors.send.begin(), vectors.send.end(), kScribble);
    std::fill(vectors.recv.begin(), vectors.recv.end(), kScribble);
  }
  keep_watch(std::move(vectors.send));
  keep_watch(std::move(vectors.recv));
}

void Caller::check_watched() {
  for (const Returned& old : watched_) check(old);
}

void Caller::keep_watch(Bytes memory) {
  if (memory.empty()) return;
  if (watched_.size() >= kWatched) {
    check(watched_.front());
    watched_.pop_front();
  }
  Bytes then = memory;
  watched_.push_back({std::move(memory), std::move(then)});
}

void Caller::check(const Returned& old) { check(old.memory, old.then, "memory of an earlier call"); }

void Caller::check(const Bytes& got, const Bytes& wanted, const char* what) {
  const auto same = [&] { return got.empty() || std::memcmp(got.data(), wanted.data(), got.size()) == 0; };
  if (got.size() == wanted.size() && same()) return;
  const auto differs = std::mismatch(got.begin(), got.end(), wanted.begin());
  world_.fail(std::string(what) + " is wrong from byte " + std::to_string(differs.first - got.begin()) + " on; " +
              text());
}

}  // namespace nezha::test
