// SPDX-License-Identifier: BSD-3-Clause
#include "caller.h"

#include <algorithm>

#include "world.h"

namespace nezha::test {
namespace {

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
  chose_ = divided_ = false;
  for (; at_ < program.calls.size(); ++at_) {
    const TeamSpec& team = program.teams[call().team];
    if (team.thread != thread_ || !member(team, process_.rank())) continue;
    if (!world_.declined(call().team) && failed_.count(call().team) == 0) break;
  }
  state_ = at_ != program.calls.size() ? State::thinking : pending_.empty() ? State::done : State::draining;
  if (done()) world_.caller_done();
}

void Caller::think(Nanoseconds time) {
  state_ = State::thinking;
  until_ = world_.network().now() + time;
  if (time != 0) world_.network().after(time, [this] { process_.wake(); });
}

bool Caller::advance() {
  const bool ended = poll_pending();
  switch (state_) {
    case State::thinking:
      if (world_.network().now() < until_) return ended;
      if (process_.team(call().team) == nullptr) process_.create_team(call().team);
      if (process_.team(call().team)->state() == NEZHA_TEAM_WIRING)
        vote();
      else
        return start() || ended;
      return true;
    case State::aggregating:
      if (!stars_settled()) return ended;
      confirm();
      return true;
    case State::small:
      if (!process_.core().small_settled(*process_.team(call().team))) return ended;
      process_.operation_ends();
      if (process_.team(call().team)->error().empty())
        finish();
      else
        fail_call();
      return true;
    case State::agreeing:
    case State::joining:
    case State::asking:
    case State::confirming:
    case State::sharing:
    case State::operating:
      if (!over(*process_.team(call().team), started_)) return ended;
      operation_over();
      return true;
    case State::incumbent:
      if (world_.network().now() < until_) return ended;
      finish();
      return true;
    case State::draining:
      if (at_ < world_.program().calls.size() ? has_pending(call().team) : !pending_.empty()) return ended;
      go_on();
      return true;
    default:
      return ended;
  }
}

void Caller::vote() {
  state_ = State::voting;
  std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
  Team& team = *process_.team(call().team);
  team.foresee(call().bytes());
  process_.core().vote(team, words);
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

/// False: it has to wait until earlier ones have ended.
bool Caller::start() {
  Team& team = *process_.team(call().team);
  began_ = world_.network().now();
  if (!team.error().empty()) return fail_call(), true;  // as the engine does: at once
  if (!has_room()) return false;
  if (!chose_ && may_go_small()) {
    if (asks_for_small()) return true;
    chose_ = true;
    if (Star* star = star_for_small()) return begin_small(*star), true;
  }
  const bool served = team.serves(call().collective, call().counts.data());
  const bool learns = Team::learns(call().collective) && !call().nonblocking && served;
  if (learns && team.must_agree(call().collective, call().bytes(), call().element)) return agree(), true;
  prepare_vectors();
  const Candidate way = way_of_call();
  how_ = {way.algorithm, false, {}};
  if (way.algorithm == AlgorithmChoice::incumbent)
    leave_to_incumbent();
  else if (goes_shared() && call().collective == Collective::barrier)
    begin_barrier();
  else if (through_stars(way))
    join_stars(way);
  else
    begin_operation(way);
  return true;
}

std::string Caller::text() const {
  std::string out = "rank " + std::to_string(process_.rank()) + " thread " + std::to_string(thread_);
  for (const Pending& each : pending_) out += " has call " + std::to_string(each.at) + " under way,";
  if (at_ == world_.program().calls.size()) return out + (done() ? " is done" : " has no other");
  const TeamSpec& team = world_.program().teams[call().team];
  constexpr const char* kStates[] = {"thinks before",     "votes before", "agrees before",
                                     "joins before",      "asks before",  "is in",
                                     "sends through the service in",      "goes whole through the service in",
                                     "confirms",          "shares after", "leaves",       "waits behind"};
  return out + " " + kStates[static_cast<int>(state_)] + " call " + std::to_string(at_) + " on " + team.name + " of " +
         std::to_string(team.members.size()) + ": " + std::to_string(call().count) + " x " +
         std::to_string(call().element) + " bytes, collective " + std::to_string(static_cast<int>(call().collective)) + (call().in_place ? " in place" : "") + ", algorithm " +
         std::to_string(static_cast<int>(how_.algorithm)) +
         (how_.shared ? ", by way of the nodes' memory" : "");
}

}  // namespace nezha::test
