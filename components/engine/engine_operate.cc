// SPDX-License-Identifier: BSD-3-Clause
/// One operation from its beginning to its end, and who drives meanwhile.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "engine/combine.h"
#include "engine/engine.h"
#include "node/node_wait.h"
#include "util/at_exit.h"

namespace nezha {
namespace {

/// Idle rounds before a caller sleeps: more in a young wait, since what a small call waits for is a few hops away, and
/// on a node with more ranks than cores yielding brings it about sooner than sleeping.
constexpr unsigned kSpinsYoung = 40;
constexpr unsigned kSpins = 3;
constexpr Nanoseconds kYoung = 300 * kMicrosecond;
/// Looks at a node's memory without a yield in between: more where they brought something, fewer where they did not.
constexpr unsigned kLeastSpins = 8, kMostSpins = 256;
constexpr unsigned kYields = 20;                     ///< for callers that are about to begin an operation
/// Between two looks at the host's own communication: an eighth of the time that the wait has taken so far, within
/// these bounds. Each look costs as much as receiving some ten KiB, and what waits for one has waited as long as we
/// have.
constexpr Nanoseconds kHostOften = 100 * kMicrosecond;
constexpr Nanoseconds kHostRarely = kMillisecond;
constexpr Nanoseconds kLanesOften = 100 * kMicrosecond;  ///< between looks at lanes that nothing is waited for from

}  // namespace

Engine::Lock Engine::enter() {
  entering_.fetch_add(1, std::memory_order_relaxed);
  Lock lock(mutex_);
  entering_.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

/// Small operations that begin at the same time share frames: what this one sends waits until those callers have begun
/// theirs, the last of whom sends it all, or not much longer than they take to get here.
void Engine::let_others_in(Lock& lock) {
  lock.unlock();
  for (unsigned i = 0; i < kYields && entering_.load(std::memory_order_relaxed) != 0; ++i) sched_yield();
  lock.lock();
  core_.send_held();
}

/// `body` is one operation from its beginning to its end, of `call`.
template <typename Body>
void Engine::operated(Team& team, const Call& call, const Body& body) {
  const unsigned within_node = team.within_node() ? 1 : 0, host = call.calls_host() ? 1 : 0;
  const Nanoseconds looked = lanes_looked_;
  ++operations_;
  node_operations_ += within_node;
  calling_host_ += host;
  const AtExit counted([this, &team, within_node, host, looked] {
    --operations_;
    node_operations_ -= within_node;
    calling_host_ -= host;
    if (!team.within_node()) {
      ++called_;
      stay_awake();
    } else if (requests_.waiting() != 0) {  // the service thread has left them to this call
      stay_awake();
    } else if (operations_ == 0 && lanes_looked_ != looked) {  // no peer needs a word of it any more
      keep_watch(false);
    }
  });
  try {
    body();
  } catch (const std::bad_alloc&) {
    no_memory();
  } catch (...) {
    break_off(team);
  }
}

void Engine::operate(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice) {
  operated(team, call, [&] {
    await_room(lock, team);
    if (!team.error().empty()) return;
    const bool more = call.bytes() <= kMostCopied && entering_.load(std::memory_order_relaxed) != 0;
    const OpNumber number = core_.start(team, call, choice, more);
    if (core_.holds()) let_others_in(lock);
    wait(lock, [&] { return team.finished(number); });
  });
}

/// `settled`, asked again and again with whether the operation has ended, goes on with another way of the call, and says when
/// that is over.
void Engine::operate_beside(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice,
                            const std::function<bool(bool carried)>& settled) {
  ++polled_ways_;
  const AtExit over([this] { --polled_ways_; });
  operated(team, call, [&] {
    await_room(lock, team);
    if (!team.error().empty()) return;
    const OpNumber number = core_.start(team, call, choice);
    wait(lock, [&] {
      const bool carried = team.finished(number);
      return settled(carried) && carried;
    });
  });
}

/// Returns how many bytes of the vector went through aggregators, as far as this rank knows.
std::size_t Engine::operate_shared(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice) {
  operated(team, call, [&] {
    ++shared_operations_;
    const AtExit counted([this] { --shared_operations_; });
    Hierarchy& hierarchy = *team.hierarchy();
    const Hierarchy::Ticket ticket = core_.start_shared(team, call, choice, true);
    // Now and then a call looks at lanes and at the host, also where all calls are short.
    if (driver_ == nullptr && clock_.now() - host_looked_ < kHostRarely) look_at_node(lock, hierarchy, ticket);
    wait(lock, [&] { return hierarchy.over(ticket); });
  });
  return team.error().empty() ? team.hierarchy()->aggregated(call) : 0;
}

/// The beginning of a call, as long as it waits for ranks of this node alone, which need microseconds: no look at lanes or
/// at the host, which cost more than that. Where looking again at once brings nothing, other processes get the core: the
/// one that is waited for may have none.
void Engine::look_at_node(Lock& lock, Hierarchy& hierarchy, const Hierarchy::Ticket& ticket) {
  Driver own;
  driver_ = &own;
  const AtExit free_the_drive([this] { driver_ = nullptr; });
  const Nanoseconds until = clock_.now() + kHostOften;
  unsigned idle = 0;
  bool in_time = true, won = false, lost = false;  // by looking again at once
  while (!hierarchy.over(ticket) && hierarchy.only_node() != nullptr && in_time) {
    if (core_.climb()) {
      won = won || idle != 0;
      idle = 0;
    } else if (++idle <= node_spins_) {
      pause_briefly();
      continue;
    } else {
      lost = true;
      const Unlocked meanwhile(lock);
      sched_yield();
    }
    in_time = clock_.now() < until;
  }
  if (lost)
    node_spins_ /= 2;
  else if (won)
    node_spins_ = std::min(2 * node_spins_ + kLeastSpins, kMostSpins);
}

/// Whether a part of this call goes through aggregators, by what all members see alike. An agreement may come first.
bool Engine::through_stars(Lock& lock, Team& team, const nezha_call_t& what, const Candidate& way) {
  Stars* const stars = team.stars_beside(way.algorithm, what.op, what.count * what.element);
  if (stars == nullptr) return false;
  if (stars->agreement_due()) {
    stars->vote(core_.aggregators());
    operate(lock, team, combine(stars->words(), NEZHA_BOR), team.agreement_algorithm());
    if (team.error().empty()) core_.join_stars(team, core_.aggregators());
  }
  return team.error().empty() && stars->in();
}

/// All ways at once, then a word of all members on whether they have all sums; where one lacks some, that part over the
/// rails. Returns how many bytes of the vector went through aggregators.
std::size_t Engine::operate_stars(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice) {
  Stars& stars = *team.stars();
  operated(team, call, [&] {
    await_room(lock, team);
    if (!team.error().empty()) return;
    core_.begin_stars(team, call);
    Call rest = call;
    rest.part = stars.rest();
    const OpNumber number = rest.part.to == 0 ? 0 : core_.start(team, rest, choice);
    wait(lock, [&] {
      const bool carried = number == 0 || team.finished(number);
      return stars.settled(clock_.now(), team.operations().overtaken()) && carried;
    });
  });
  if (!team.error().empty()) return 0;
  operate(lock, team, combine(stars.confirmation(clock_.now()), NEZHA_MAX), team.agreement_algorithm());
  if (!team.error().empty()) return 0;
  const std::size_t accepted = stars.accept(call);
  for (const Unsummed& part : core_.leave_stars(team, call)) {
    operate(lock, team, part.again(call), choice);
    if (!team.error().empty()) return 0;
    part.deliver(call);
  }
  return accepted;
}

/// What a small call goes through, by what all members see alike; null: over the rails. Agreements may come first.
Star* Engine::through_small(Lock& lock, Team& team, const nezha_call_t& what) {
  while (team.error().empty()) {
    const std::optional<Call> words = core_.small_words(team, what);
    if (!words) return core_.star_for_small(team, what);
    operate(lock, team, *words, team.agreement_algorithm());
    if (team.error().empty()) core_.small_agreed(team, what);
  }
  return nullptr;
}

int Engine::carry_small(Lock& lock, Team& team, nezha_call_t what, Star& star) {
  const Nanoseconds start = clock_.now();
  const bool elsewhere = is_elsewhere(what);
  if (elsewhere && !bring(lock, what)) return NEZHA_ERR_FAILED;
  const Call call = call_of(team, what, {AlgorithmChoice::single_step}, false);
  operated(team, call, [&] {
    await_room(lock, team);
    if (!team.error().empty()) return;
    core_.begin_small(team, call, star);
    wait(lock, [&] { return core_.small_settled(team); });
  });
  if (elsewhere && team.error().empty() && !deliver(lock, what)) return NEZHA_ERR_FAILED;
  if (team.error().empty()) {
    const Nanoseconds took = clock_.now() - start;
    team.small()->took(took);
    count(call.bytes(), took, call.bytes());
    if (trace_) trace_->call(start, call.bytes(), team.size(), {AlgorithmChoice::single_step}, team.table().rails(), {}, call.bytes());
  }
  if (core_.has_notices()) show_notices(lock);
  return team.error().empty() ? NEZHA_OK : NEZHA_ERR_FAILED;
}

/// The service thread is to look in: acks and words for peers may be left to send.
void Engine::stay_awake() {
  if (ticking_) return;
  ticking_ = true;
  wake_service();
}

/// Lanes may be in the middle of the caller's vectors, so there is nobody to return to.
void Engine::no_memory() const {
  core_.log().line(0, "the system gives no memory in the middle of an operation: this process cannot go on");
  std::abort();
}

/// Another operation may begin when those called before it have, and one so many before it has ended.
void Engine::await_room(Lock& lock, Team& team) {
  wait(lock, [&] {
    if (requests_.queued(team)) return false;
    return team.operations().room() || (team.finished(), team.operations().room());
  });
}

/// One caller drives; the others sleep until what they wait for has come, or the drive is handed on or taken over.
template <typename Over>
void Engine::wait(Lock& lock, const Over& over) {
  const AtExit hand_on([this] {
    if (waiting_ != 0) turn_.notify_all();
  });
  while (!over()) {
    if (driver_ != nullptr && !may_take_over(*driver_)) {
      ++waiting_;
      turn_.wait_for(lock, std::chrono::milliseconds(1));
      --waiting_;
      continue;
    }
    Driver own;
    driver_ = &own;
    const AtExit free_the_drive([this, &own] {
      if (driver_ == &own) driver_ = nullptr;
    });
    if (drive(lock, over, own)) return;
  }
}

/// What the host's progress calls may be in a call of ours itself, and would wait for its own thread. What other threads
/// wait for may have to be reduced by the host, which the service thread cannot do.
bool Engine::may_take_over(const Driver& driver) const {
  return driver.away_since != 0 &&
         (driver.thread == std::this_thread::get_id() || clock_.now() - driver.away_since >= kAway);
}

/// The driver may come back late: then the service thread has to look in, unless ranks of this node alone are concerned, to
/// whom it shows life in any case.
void Engine::let_host_progress(Lock& lock, Driver& driver, Nanoseconds now) {
  if (operations_ != node_operations_) stay_awake();
  driver.away_since = now;
  {
    const Unlocked meanwhile(lock);
    host_.progress(host_.ctx);
  }
  driver.away_since = 0;
}

/// Until it is over, or another has taken over the drive: false. Asks once a round, since that costs as much as an idle look.
template <typename Over>
bool Engine::drive(Lock& lock, const Over& over, Driver& driver) {
  const Nanoseconds began = clock_.now();
  Nanoseconds idle_since = began, now = began;
  unsigned idle_rounds = 0;
  while (true) {
    const bool moved = look(now);
    if (moved && waiting_ != 0) turn_.notify_all();
    if (over()) return true;
    now = clock_.now();
    const Nanoseconds look_due = host_looked_ + std::clamp((now - began) / 8, kHostOften, kHostRarely);
    if (moved) {
      idle_since = now;
      idle_rounds = 0;
    } else if (now - idle_since >= kPatience) {
      core_.settle();  // a peer may wait for our acks before it can come here
      idle_since = now;
    }
    if (now >= look_due) {
      host_looked_ = now;
      core_.step(now);
      if (trace_) trace_->tick(now);
    }
    if (now >= look_due || host_carries_) {
      let_host_progress(lock, driver, now);
      if (driver_ != &driver) return false;
    } else if (!moved) {
      rest(lock, polled_ways_ != 0 || idle_rounds++ < (now - began < kYoung ? kSpinsYoung : kSpins) ? 0 : look_due - now);
    }
  }
}

/// For lanes that nobody else moves.
void Engine::look_with_host(Lock& lock) {
  {
    const Unlocked meanwhile(lock);
    host_.progress(host_.ctx);
  }
  try {
    keep_watch(core_.progress(Watch::all));
  } catch (const std::bad_alloc&) {
    no_memory();
  }
}

/// After a caller's look at lanes that no operation is waited for from: the caller may not come again, and its look has ended the
/// watch that the service thread sleeps on.
void Engine::keep_watch(bool moved) {
  if (!watching_) return;
  if (moved) return stay_awake();
  core_.arm_payload_wakeup();
}

/// While ranks of this node alone are waited for, lanes can wait a little: a look at the memory costs a tenth of one at
/// them, and on a crowded node the rank that is waited for has to wait for this one's looks.
bool Engine::look(Nanoseconds now) {
  if (only_node() != nullptr && now - lanes_looked_ < kLanesOften) return core_.climb();
  lanes_looked_ = now;
  return look_everywhere();
}

/// The memory to sleep on while all that is under way waits for ranks of this node alone; else null.
NodeMemory* Engine::only_node() const {
  return operations_ == shared_operations_ && requests_.all_shared() ? core_.only_node() : nullptr;
}

bool Engine::look_everywhere() {
  const bool moved = core_.progress(Watch::all);
  return (requests_.waiting() != 0 && advance_requests()) || moved;
}

}  // namespace nezha
