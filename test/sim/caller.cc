// SPDX-License-Identifier: BSD-3-Clause
#include "caller.h"

#include <algorithm>
#include <cstring>

#include "world.h"

namespace nezha::test {
namespace {

constexpr Nanoseconds kIncumbentTime = 5 * kMillisecond;  ///< at most
constexpr std::size_t kWatched = 24;  ///< results that are looked at again later
constexpr std::byte kScribble{0xa5};

bool member(const TeamSpec& team, int rank) {
  return std::find(team.members.begin(), team.members.end(), rank) != team.members.end();
}

}  // namespace

Caller::Caller(World& world, Process& process, int thread) : world_(world), process_(process), thread_(thread) {
  next_call();
}

const CallSpec& Caller::call() const { return world_.program().calls[at_]; }

/// Goes to the next call from `at_` on that is this thread's.
void Caller::next_call() {
  const Program& program = world_.program();
  for (; at_ < program.calls.size(); ++at_) {
    const TeamSpec& team = program.teams[call().team];
    if (team.thread != thread_ || !member(team, process_.rank())) continue;
    if (!world_.declined(call().team) && failed_.count(call().team) == 0) break;
  }
  state_ = at_ == program.calls.size() ? State::done : State::thinking;
  if (done()) world_.caller_done();
}

void Caller::think(Nanoseconds time) {
  state_ = State::thinking;
  until_ = world_.network().now() + time;
  if (time != 0) world_.network().after(time, [this] { process_.wake(); });
}

bool Caller::advance() {
  switch (state_) {
    case State::thinking:
      if (world_.network().now() < until_) return false;
      if (process_.team(call().team) == nullptr) process_.create_team(call().team);
      if (process_.team(call().team)->state() == NEZHA_TEAM_WIRING)
        vote();
      else
        start();
      return true;
    case State::agreeing:
    case State::operating:
      if (!process_.team(call().team)->finished()) return false;
      operation_over();
      return true;
    case State::incumbent:
      if (world_.network().now() < until_) return false;
      finish();
      return true;
    default:
      return false;
  }
}

void Caller::vote() {
  state_ = State::voting;
  std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
  process_.core().vote(*process_.team(call().team), words);
  world_.collect_vote(call().team, words, *this);
}

void Caller::decide(const std::vector<std::uint64_t>& all) {
  if (!process_.alive()) return;
  std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
  std::copy(all.begin(), all.end(), words.begin());
  const nezha_team_state_t state = process_.core().decide(*process_.team(call().team), words);
  if (state == NEZHA_TEAM_DECLINED) {
    world_.decline(call().team);
    next_call();
    return process_.wake();
  }
  think(state == NEZHA_TEAM_WIRING ? 5 * kMillisecond : 0);
  process_.wake();
}

void Caller::give_up_team() {
  if (!process_.alive()) return;
  next_call();
  process_.wake();
}

void Caller::start() {
  Team& team = *process_.team(call().team);
  if (!team.error().empty()) return fail_call();  // as the engine does: at once
  if (team.table().agreement_due(call().bytes(), call().element)) return agree();
  const auto& members = world_.program().teams[call().team].members;
  const auto rank = std::find(members.begin(), members.end(), process_.rank()) - members.begin();
  send_ = contribution(call(), static_cast<int>(rank));
  if (!call().in_place) given_ = send_;
  recv_.assign(call().in_place ? 0 : call().bytes(), kScribble);
  const Candidate way = team.table().next(call().bytes(), call().element);
  algorithm_ = way.algorithm;
  began_ = world_.network().now();
  if (algorithm_ == AlgorithmChoice::incumbent) return leave_to_incumbent();
  Call what;
  what.send = send_.data();
  what.recv = call().in_place ? send_.data() : recv_.data();
  what.count = call().count;
  what.element = call().element;
  what.one_rail = way.one_rail;
  what.rails = process_.core().rails_here(team, call().team % 2 == 0 ? world_.setting().rails : way.rails);
  what.chunk = team.plan().chunk_for(way, call().bytes(), call().element, team.size());
  what.reducer = reducer_of(call());
  state_ = State::operating;
  world_.call_begun(at_);
  process_.operation_begins();
  process_.core().start(team, what, algorithm_);
}

void Caller::operation_over() {
  Team& team = *process_.team(call().team);
  process_.operation_ends();
  if (!team.error().empty()) return fail_call();
  if (state_ == State::operating) return finish();
  team.table().agreed();
  start();
}

/// The team has failed, and with it all its calls.
void Caller::fail_call() {
  if (state_ == State::operating) leave_memory();
  world_.call_failed(at_, process_.team(call().team)->error(), began_);
  process_.destroy_team(call().team);
  failed_.insert(call().team);
  next_call();
}

/// The table's words are combined by an operation of the team.
void Caller::agree() {
  Team& team = *process_.team(call().team);
  state_ = State::agreeing;
  began_ = world_.network().now();
  process_.operation_begins();
  process_.core().start(team, team.agreement(), team.agreement_algorithm());
}

/// Somebody else's allreduce: it takes its time and is right.
void Caller::leave_to_incumbent() {
  (call().in_place ? send_ : recv_) = world_.expected(at_, algorithm_);
  state_ = State::incumbent;
  process_.core().leave_to_incumbent(*process_.team(call().team), call().bytes());
  const Nanoseconds time = world_.setting().random.between(0, kIncumbentTime);
  until_ = world_.network().now() + time;
  world_.network().after(time, [this] { process_.wake(); });
}

void Caller::finish() {
  process_.team(call().team)->table().took(world_.network().now() - began_);
  check(call().in_place ? send_ : recv_, world_.expected(at_, algorithm_), "the result");
  if (!call().in_place) check(send_, given_, "the source after the call");
  check_watched();
  leave_memory();
  if (call().last) process_.destroy_team(call().team);
  world_.call_done(at_, algorithm_);
  ++at_;
  next_call();
  if (done()) return;
  Setting& setting = world_.setting();
  const bool thinks = setting.thinker < 0 || setting.thinker == process_.rank();
  const Nanoseconds longest = thinks ? setting.longest_thought : 0;
  SimRandom& random = setting.random;
  think(longest == 0 || random.chance(0.5) ? 0 : random.between(0, longest));
}

/// From here on the memory is the application's. Either it changes it at once, or it finds it as it was left.
void Caller::leave_memory() {
  if (world_.setting().random.chance(0.7)) {
    std::fill(send_.begin(), send_.end(), kScribble);
    std::fill(recv_.begin(), recv_.end(), kScribble);
  }
  keep_watch(std::move(send_));
  keep_watch(std::move(recv_));
}

void Caller::check_watched() {
  for (const Returned& old : watched_) check(old.memory, old.then, "memory of an earlier call");
}

void Caller::keep_watch(Bytes memory) {
  if (memory.empty()) return;
  if (watched_.size() >= kWatched) watched_.erase(watched_.begin());
  Bytes then = memory;
  watched_.push_back({std::move(memory), std::move(then)});
}

void Caller::check(const Bytes& got, const Bytes& wanted, const char* what) {
  if (got.size() == wanted.size() && std::memcmp(got.data(), wanted.data(), got.size()) == 0) return;
  const auto differs = std::mismatch(got.begin(), got.end(), wanted.begin());
  world_.fail(std::string(what) + " is wrong from byte " + std::to_string(differs.first - got.begin()) + " on; " + text());
}

std::string Caller::text() const {
  std::string out = "rank " + std::to_string(process_.rank()) + " thread " + std::to_string(thread_);
  if (state_ == State::done) return out + " is done";
  const TeamSpec& team = world_.program().teams[call().team];
  constexpr const char* kStates[] = {"thinks before", "votes before", "agrees before", "is in", "leaves"};
  return out + " " + kStates[static_cast<int>(state_)] + " call " + std::to_string(at_) + " on " + team.name + " of " +
         std::to_string(team.members.size()) + ": " + std::to_string(call().count) + " x " +
         std::to_string(call().element) + " bytes" + (call().in_place ? " in place" : "") + ", algorithm " +
         std::to_string(static_cast<int>(algorithm_));
}

}  // namespace nezha::test
