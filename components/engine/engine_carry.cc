// SPDX-License-Identifier: BSD-3-Clause
/// A blocking call on its way: who carries it, and what it is called there.
#include <optional>
#include <utility>

#include "engine/combine.h"
#include "engine/engine.h"
#include "tuning/siblings.h"

namespace nezha {
namespace {

std::string name_in_story(Collective collective) {
  return collective == Collective::allreduce ? "" : std::string(name_of(collective)) + " ";
}

/// What was sent over each rail meanwhile.
Trace::Bytes since(const Trace::Bytes& before, Trace::Bytes now) {
  for (std::size_t rail = 0; rail < now.size(); ++rail) now[rail] -= before[rail];
  return now;
}

}  // namespace

int Engine::collective(Team& team, const nezha_call_t& what) {
  if (what.count == 0) return NEZHA_OK;
  Lock lock = enter();
  if (!team.serves(static_cast<Collective>(what.collective), what.counts)) return NEZHA_USE_INCUMBENT;
  try {
    return what.collective == NEZHA_BARRIER ? carry_barrier(lock, team, what) : carry(lock, team, what);
  } catch (...) {
    break_off(team);
    return NEZHA_ERR_FAILED;
  }
}

/// Has the host copy vectors to where the engine can use them. False: the call has failed.
bool Engine::bring(Lock& lock, nezha_call_t& what) const {
  const Unlocked meanwhile(lock);
  return host_.bring(host_.ctx, what.call_ctx, &what.send, &what.recv) == NEZHA_OK;
}

/// The same of the result, to where the host wants it.
bool Engine::deliver(Lock& lock, const nezha_call_t& what) const {
  const Unlocked meanwhile(lock);
  return host_.deliver(host_.ctx, what.call_ctx) == NEZHA_OK;
}

int Engine::carry(Lock& lock, Team& team, nezha_call_t what) {
  const auto collective = static_cast<Collective>(what.collective);
  const std::size_t bytes = what.count * what.element;
  const bool small = Core::may_go_small(team, what);
  if (small)
    if (Star* star = through_small(lock, team, what)) return carry_small(lock, team, what, *star);
  while (team.error().empty() && team.must_agree(collective, bytes, what.element)) agree(lock, team, what);
  if (!team.error().empty()) return NEZHA_ERR_FAILED;
  Table& table = team.table(collective);
  const bool shares = team.shares(collective, what.element, what.counts);
  const Candidate next = table.next(bytes, what.element);
  const Candidate way = shares ? next : team.flat(next, collective, bytes, what.element);
  if (way.algorithm == AlgorithmChoice::incumbent) return leave(lock, team, collective, bytes);
  const bool allreduce = collective == Collective::allreduce;  // only these are traced and saved
  const bool by_rail = allreduce && (trace_ || (table.measures() && core_.saves_tables()));
  Trace::Bytes carried{};
  if (by_rail) carried = core_.sent();
  const Nanoseconds start = clock_.now();
  const bool elsewhere = is_elsewhere(what);
  if (elsewhere && !bring(lock, what)) return NEZHA_ERR_FAILED;
  Call call = call_of(team, what, way, shares);
  const bool divided = shares && team.set_share(call, way.algorithm);
  std::size_t aggregated = 0;
  if (allreduce && through_stars(lock, team, what, way))
    aggregated = operate_stars(lock, team, call, way.algorithm);
  else if (allreduce && team.error().empty() && through_sharp(lock, team, what))
    aggregated = operate_sharp(lock, team, what, call, way.algorithm);
  else if (!team.error().empty())
    return NEZHA_ERR_FAILED;
  else if (shares)
    aggregated = operate_shared(lock, team, call, way.algorithm);
  else
    operate(lock, team, call, way.algorithm);
  if (divided && team.error().empty()) agree_on_share(lock, team, call, clock_.now() - start);
  if (elsewhere && team.error().empty() && !deliver(lock, what)) return NEZHA_ERR_FAILED;
  if (team.error().empty()) {
    const Nanoseconds took = clock_.now() - start;
    if (!team.within_node()) count(bytes, took, aggregated);
    if (shares) count_shared(bytes, took);
    if (by_rail) carried = since(carried, core_.sent());
    table.took(took, carried);
    if (small) team.small()->took(took);
    if (allreduce) core_.small_confirmed(team);
    if (trace_ && allreduce) trace_->call(start, bytes, team.size(), way, table.rails(), carried, aggregated);
  }
  if (core_.has_notices()) show_notices(lock);
  return team.error().empty() ? NEZHA_OK : NEZHA_ERR_FAILED;
}

/// All ranks of a team find out together how much goes through the aggregators of some.
void Engine::agree_on_share(Lock& lock, Team& team, const Call& call, Nanoseconds took) {
  if (!team.share_due(call)) return;
  operate_shared(lock, team, combine(team.share_words(took), NEZHA_MAX), team.agreement_algorithm());
  if (team.error().empty()) team.share_combined(call);
}

/// The call is the incumbent's; incumbent_done() tells when that has carried it.
int Engine::leave(Lock& lock, Team& team, Collective collective, std::size_t bytes) {
  if (!team.within_node()) {
    await_room(lock, team);
    core_.leave_to_incumbent(team, bytes);
  }
  if (!team.error().empty()) return NEZHA_ERR_FAILED;
  const bool traced = trace_ && collective == Collective::allreduce;
  const bool timed = collective == Collective::allreduce && team.small() != nullptr && team.small()->timed();
  const Nanoseconds since = team.table(collective).measures() || traced || timed ? clock_.now() : 0;
  team.left[static_cast<std::size_t>(collective)] = {since, bytes};
  return NEZHA_USE_INCUMBENT;
}

Candidate Engine::barrier_way(const Team& team) {
  return {sibling_choice(team.plan(), Collective::barrier, 1, 1, team.size())};
}

/// Of these nothing is learned. Where ranks of a node share memory it is a sum that nobody reads, since only the first
/// of each node then waits for other nodes.
int Engine::carry_barrier(Lock& lock, Team& team, const nezha_call_t& what) {
  if (!team.error().empty()) return NEZHA_ERR_FAILED;
  const Candidate way = barrier_way(team);
  if (way.algorithm == AlgorithmChoice::incumbent) return NEZHA_USE_INCUMBENT;
  const Nanoseconds start = clock_.now();
  std::uint64_t nothing = 0;
  if (team.shares(Collective::barrier, sizeof nothing))
    operate_shared(lock, team, combine({&nothing, 1}, NEZHA_BOR), team.agreement_algorithm());
  else
    operate(lock, team, call_of(team, what, way, false), way.algorithm);
  if (team.error().empty() && !team.within_node()) count(what.count * what.element, clock_.now() - start);
  if (core_.has_notices()) show_notices(lock);
  return team.error().empty() ? NEZHA_OK : NEZHA_ERR_FAILED;
}

/// `shares`: it goes by way of the nodes' shared memory.
Call Engine::call_of(const Team& team, const nezha_call_t& what, const Candidate& way, bool shares) const {
  Call call;
  call.collective = static_cast<Collective>(what.collective);
  call.counts = what.counts;
  call.root = what.root;
  call.send = static_cast<const std::byte*>(what.send);
  call.recv = static_cast<std::byte*>(what.recv);
  call.count = what.count;
  call.element = what.element;
  call.one_rail = way.one_rail;
  call.rails = team.within_node() ? RailSet{} : core_.rails_here(team, way.rails);
  const Hierarchy* shared = shares ? team.hierarchy() : nullptr;
  if (shared != nullptr) call.carriers = way.carriers;
  const std::size_t bytes = shared != nullptr ? shared->segment(call) : call.bytes();
  const int size = shared != nullptr ? shared->nodes() : team.size();
  call.chunk = call.collective == Collective::allreduce
                   ? team.plan().chunk_for(way, bytes, what.element, size)
                   : sibling_chunk(team.plan(), call.collective, way, bytes, what.element, size);
  call.star.type = what.type;
  call.star.op = what.op;
  call.reducer = {find_kernel(what.type, what.op), host_.reduce, host_.ctx, what.call_ctx, what.element};
  return call;
}

/// The ranks agree on what the table's next steps depend on. Where that is the rails' rates, they do so again and again until
/// all have sampled their lanes, and so are there to take one another's bytes.
void Engine::agree(Lock& lock, Team& team, const nezha_call_t& what) {
  const auto collective = static_cast<Collective>(what.collective);
  const std::size_t bytes = what.count * what.element;
  const bool rows = team.rows_due(), rates = !rows && team.rates_due(collective, bytes, what.element);
  const Call words = team.agreement(collective, bytes, what.element);
  if (team.agrees_in_memory())
    operate_shared(lock, team, words, team.agreement_algorithm());
  else
    operate(lock, team, words, team.agreement_algorithm());
  if (!team.error().empty()) return;
  if (rows) {
    core_.take_rows(team);
    return show_notices(lock);
  }
  if (rates) {
    team.take_rates();
    core_.sample(team, bytes);
    return stay_awake();
  }
  const int level = team.rank() == 0 ? 1 : 2;  // all decide alike: one of them tells
  if (team.table(collective).agreed() && core_.log().on(level))
    core_.log().line(level, "team %s, %s%s", team.name().c_str(), name_in_story(collective).c_str(),
                     team.table(collective).story().c_str());
}

void Engine::incumbent_done(Team& team, Collective collective) {
  const auto [since, bytes] = std::exchange(team.left[static_cast<std::size_t>(collective)], {});
  if (since == 0) return;
  Lock lock(mutex_);
  Table& table = team.table(collective);
  try {
    if (table.measures()) table.took(clock_.now() - since);
    if (collective == Collective::allreduce && team.small() != nullptr) team.small()->took(clock_.now() - since);
    if (trace_ && collective == Collective::allreduce) trace_->call(since, bytes, team.size(), {}, {}, {}, 0);
  } catch (...) {
    break_off(team);
  }
}

}  // namespace nezha
