// SPDX-License-Identifier: BSD-3-Clause
/// How a call is begun: the way that all ranks choose alike, and what goes beside it.
#include <algorithm>

#include "caller.h"
#include "engine/combine.h"
#include "tuning/siblings.h"
#include "world.h"

namespace nezha::test {

/// As the engine has it: of barriers only those that block.
bool Caller::goes_shared() const {
  const Team& team = *process_.team(call().team);
  if (call().collective != Collective::barrier) return team.shares(call().collective, call().element, call().counts.data());
  return !call().nonblocking && team.shares(Collective::barrier, sizeof nothing_);
}

bool Caller::has_room() const {
  const Team& team = *process_.team(call().team);
  if (!goes_shared()) return team.operations().room();
  return !call().nonblocking || team.hierarchy()->room();
}

/// This and the next ones: as Engine::through_small() and carry_small() do it.
bool Caller::may_go_small() const {
  return !call().nonblocking && call().collective == Collective::allreduce &&
         Core::may_go_small(*process_.team(call().team), allreduce_call());
}

nezha_call_t Caller::allreduce_call() const {
  nezha_call_t what{};
  what.collective = NEZHA_ALLREDUCE;
  what.count = call().count;
  what.element = call().element;
  what.type = type_here();
  what.op = call().op;
  return what;
}

/// Types of one signature may differ from rank to rank.
nezha_type_t Caller::type_here() const {
  return call().rank_without_kernel() == rank_in(call()) ? NEZHA_TYPE_OTHER : call().type;
}

bool Caller::asks_for_small() {
  Team& team = *process_.team(call().team);
  const std::optional<Call> words = process_.core().small_words(team, allreduce_call());
  if (!words) return false;
  state_ = State::asking;
  start_flat(*words, team.agreement_algorithm());
  return true;
}

Star* Caller::star_for_small() {
  return process_.core().star_for_small(*process_.team(call().team), allreduce_call());
}

void Caller::begin_small(Star& star) {
  Team& team = *process_.team(call().team);
  prepare_vectors();
  how_ = {AlgorithmChoice::single_step, false, {}};
  state_ = State::small;
  world_.call_begun(at_);
  process_.operation_begins();
  process_.core().begin_small(team, call_by({how_.algorithm}), star);
}

int Caller::rank_in(const CallSpec& call) const {
  const auto& members = world_.program().teams[call.team].members;
  return static_cast<int>(std::find(members.begin(), members.end(), process_.rank()) - members.begin());
}

void Caller::prepare_vectors() {
  const int rank = rank_in(call());
  vectors_ = {};
  vectors_.send = contribution(call(), rank);
  if (call().hands_round()) {
    const Range block = block_of(call(), rank);
    Bytes own(vectors_.send.begin() + static_cast<std::ptrdiff_t>(block.begin),
              vectors_.send.begin() + static_cast<std::ptrdiff_t>(block.begin + block.bytes));
    if (!call().in_place_at(rank)) {
      vectors_.send = std::move(own);
    } else {
      vectors_.send.assign(call().bytes(), kScribble);
      std::copy(own.begin(), own.end(), vectors_.send.begin() + static_cast<std::ptrdiff_t>(block.begin));
    }
  }
  if (call().in_place_at(rank)) return;
  vectors_.given = vectors_.send;
  vectors_.recv.assign(result_at(call(), rank).bytes, kScribble);
}

Candidate Caller::way_of_call() {
  Team& team = *process_.team(call().team);
  if (team.within_node() && !goes_shared()) return {AlgorithmChoice::incumbent};
  if (!Team::learns(call().collective))
    return {sibling_choice(team.plan(), call().collective, call().bytes(), call().element, team.size())};
  Table& table = team.table(call().collective);
  const Candidate way = call().nonblocking ? table.next_untimed(call().bytes(), call().element)
                                           : table.next(call().bytes(), call().element);
  return goes_shared() ? way : team.flat(way, call().collective, call().bytes(), call().element);
}

Call Caller::call_by(const Candidate& way) {
  Team& team = *process_.team(call().team);
  const int rank = rank_in(call());
  const bool in_place = call().in_place_at(rank);
  Call what;
  what.collective = call().collective;
  what.counts = call().counts.data();
  what.root = call().root;
  what.send = vectors_.send.data() + (in_place && call().hands_round() ? block_of(call(), rank).begin : 0);
  what.recv = in_place ? vectors_.send.data() : vectors_.recv.data();
  what.count = call().count;
  what.element = call().element;
  what.one_rail = way.one_rail;
  if (!team.within_node())
    what.rails = process_.core().rails_here(team, call().team % 2 == 0 ? world_.setting().rails : way.rails);
  const Hierarchy* const shared = goes_shared() ? team.hierarchy() : nullptr;
  if (shared != nullptr) what.carriers = way.carriers;
  const std::size_t bytes = shared != nullptr ? shared->segment(what) : call().bytes();
  const int among = shared != nullptr ? shared->nodes() : team.size();
  what.chunk = what.collective != Collective::allreduce
                   ? sibling_chunk(team.plan(), what.collective, way, bytes, call().element, among)
                   : team.plan().chunk_for(way, bytes, call().element, among);
  what.star.type = type_here();
  what.star.op = call().op;
  what.reducer = reducer_of(call());
  return what;
}

void Caller::begin_operation(const Candidate& way) {
  what_ = call_by(way);
  divided_ = goes_shared() && !call().nonblocking && process_.team(call().team)->set_share(what_, way.algorithm);
  state_ = State::operating;
  world_.call_begun(at_);
  goes_shared() ? start_shared(what_, way.algorithm) : start_flat(what_, way.algorithm);
  if (!call().nonblocking) return;
  pending_.push_back({at_, started_, how_, began_, std::move(vectors_)});
  ++at_;
  next_call();
}

/// As Engine::carry_barrier() does it: a sum that nobody reads.
void Caller::begin_barrier() {
  state_ = State::operating;
  world_.call_begun(at_);
  nothing_ = 0;
  start_shared(combine({&nothing_, 1}, NEZHA_BOR), process_.team(call().team)->agreement_algorithm());
}

void Caller::start_flat(const Call& what, AlgorithmChoice algorithm) {
  process_.operation_begins();
  started_ = {false, {0, process_.core().start(*process_.team(call().team), what, algorithm)}};
}

void Caller::start_shared(const Call& what, AlgorithmChoice algorithm) {
  Team& team = *process_.team(call().team);
  const Hierarchy& hierarchy = *team.hierarchy();
  process_.operation_begins();
  if (state_ == State::operating)
    how_ = {algorithm, true, {hierarchy.carriers(what), hierarchy.segment(what), hierarchy.as_allreduce(what)}};
  const bool blocks = state_ != State::operating || !call().nonblocking;
  started_ = {true, process_.core().start_shared(team, what, algorithm, blocks)};
}

bool Caller::over(Team& team, const Started& started) {
  return started.shared ? team.hierarchy()->over(started.ticket) : team.finished(started.ticket.number);
}

/// This and the next ones: as Engine::through_stars() and operate_stars() do it.
bool Caller::through_stars(const Candidate& way) {
  if (call().collective != Collective::allreduce || call().nonblocking) return false;
  Stars* const stars = process_.team(call().team)->stars_beside(way.algorithm, call().op, call().bytes());
  if (stars == nullptr) return false;
  votes_ = stars->agreement_due();
  return votes_ || stars->in();
}

void Caller::join_stars(const Candidate& way) {
  Team& team = *process_.team(call().team);
  if (!votes_) return begin_stars(way);
  way_ = way;
  state_ = State::joining;
  team.stars()->vote(process_.core().aggregators());
  start_flat(combine(team.stars()->words(), NEZHA_BOR), team.agreement_algorithm());
}

void Caller::begin_stars(const Candidate& way) {
  Team& team = *process_.team(call().team);
  Stars& stars = *team.stars();
  what_ = call_by(way);
  state_ = State::aggregating;
  world_.call_begun(at_);
  process_.operation_begins();
  process_.core().begin_stars(team, what_);
  Call rest = what_;
  rest.part = stars.rest();
  started_ = {};
  if (rest.part.to != 0) started_.ticket.number = process_.core().start(team, rest, how_.algorithm);
}

bool Caller::stars_settled() {
  Team& team = *process_.team(call().team);
  const bool carried = started_.ticket.number == 0 || over(team, started_);
  return team.stars()->settled(process_.clock().now(), team.operations().overtaken()) && carried;
}

void Caller::confirm() {
  Team& team = *process_.team(call().team);
  process_.operation_ends();
  if (!team.error().empty()) return fail_call();
  state_ = State::confirming;
  start_flat(combine(team.stars()->confirmation(process_.clock().now()), NEZHA_MAX), team.agreement_algorithm());
}

void Caller::confirmed() {
  Team& team = *process_.team(call().team);
  team.stars()->accept(what_);
  lost_ = process_.core().leave_stars(team, what_);
  carry_lost();
}

void Caller::carry_lost() {
  if (lost_.empty()) return finish();
  state_ = State::operating;
  start_flat(lost_.back().again(what_), how_.algorithm);
}

}  // namespace nezha::test
