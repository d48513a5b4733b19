// SPDX-License-Identifier: BSD-3-Clause
/// Calls that do not block: how they begin, and who goes on with them while the application does something else.
#include <algorithm>
#include <new>

#include "engine/engine.h"

namespace nezha {
namespace {

constexpr Nanoseconds kShowLife = kSecond;           ///< of a process that computes, to peers that wait for it
constexpr Nanoseconds kStep = kMillisecond;          ///< between two looks at what is due by time
/// A caller that has looked so recently will look again: it sees what comes sooner than a thread that has to be woken.
constexpr Nanoseconds kPolled = 100 * kMicrosecond;
/// A caller that does nothing but look: it comes back so soon. On a node with more ranks than processors it sleeps for a moment now and
/// then, so that the peer that it waits for gets its turn. No more than that, and elsewhere not at all: messages of the host's may be
/// what it waits for, and these do not wake it.
constexpr Nanoseconds kAtOnce = 10 * kMicrosecond;
constexpr Nanoseconds kNap = 50 * kMicrosecond;
constexpr Nanoseconds kNapEvery = 400 * kMicrosecond;
/// Of the service thread while they bring something: each takes up to a chunk of each call further, and holds the lock.
constexpr unsigned kLooksInARow = 16;

}  // namespace

int Engine::start(Team& team, nezha_call_t what, Request*& request) {
  Lock lock = enter();
  if (!team.error().empty()) return NEZHA_ERR_FAILED;
  if (what.persistent != 0 && !team.plan().strict_persistent_order) return NEZHA_USE_INCUMBENT;
  const auto collective = static_cast<Collective>(what.collective);
  const std::size_t bytes = what.count * what.element;
  const bool shared = Team::learns(collective) && team.shares(collective, what.element, what.counts);
  if (team.within_node() && !shared) return NEZHA_USE_INCUMBENT;
  Candidate way =
      Team::learns(collective) ? team.table(collective).next_untimed(bytes, what.element) : barrier_way(team);
  if (Team::learns(collective) && !shared) way = team.flat(way, collective, bytes, what.element);
  if (way.algorithm == AlgorithmChoice::incumbent) return NEZHA_USE_INCUMBENT;
  if (is_elsewhere(what) && !bring(lock, what)) return NEZHA_ERR_FAILED;
  try {
    request = &requests_.take();
    request->team = &team;
    request->call = call_of(team, what, way, shared);
    request->algorithm = way.algorithm;
    request->shared = shared;
    request->began = begun_ = clock_.now();
    requests_.begin(*request);
  } catch (const std::bad_alloc&) {
    no_memory();
  } catch (...) {
    break_off(team);
  }
  vain_naps_ = 0;
  if (asleep_) wake_service();
  asleep_ = false;
  return NEZHA_OK;
}

void Engine::give_back(Request& request) {
  Lock lock = enter();
  requests_.give_back(request);
}

bool Engine::advance_requests() {
  return requests_.advance([this](const Request& request) {
    if (request.team->error().empty()) {
      const Nanoseconds took = clock_.now() - request.began;
      if (!request.team->within_node()) count(request.call.bytes(), took);
      if (request.shared) count_shared(request.call.bytes(), took);
    }
    ++called_;
  });
}

bool Engine::progress() {
  if (requests_.waiting() == 0 && !host_carries_) return false;
  Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const Nanoseconds now = clock_.now();
  const bool at_once = now - polled_ < kAtOnce;
  polled_ = now;
  bool moved = false;
  try {
    moved = go_on(now);
    keep_watch(moved);
  } catch (const std::bad_alloc&) {
    no_memory();
  }
  if (host_carries_) return moved;  // to sleep on descriptors would keep the host's threads from it
  if (!crowded_ || !at_once || now - std::max({begun_, moved_, napped_}) < kNapEvery) return moved;
  rest(lock, kNap);
  polled_ = napped_ = clock_.now();
  return moved;
}

/// What is due, at lanes and by time.
bool Engine::go_on(Nanoseconds now) {
  const bool moved = look_everywhere();
  if (moved) moved_ = settled_ = now;
  if (now - settled_ >= kPatience) {
    core_.settle();
    settled_ = now;
  }
  if (now - host_looked_ >= kStep) {
    host_looked_ = now;
    core_.step(now);
    if (trace_) trace_->tick(now);
  }
  return moved;
}

bool Engine::callers_look(Nanoseconds now) const { return now - polled_ < kPolled || requests_.call_host(); }

/// The service thread's look while there are requests and nobody is in a call.
void Engine::overlap() {
  const Nanoseconds now = clock_.now();
  overlapped_ = now;
  ticking_ = true;  // what is left to be said when they are over
  if (now - polled_ < kPolled) return;
  if (!requests_.call_host())
    go_on_for_a_while();
  else
    go_on_without_host(polled_, now);
}

/// The driver is in the host's progress for so long that others have to act for it.
bool Engine::unattended(Nanoseconds now) const {
  return driver_ != nullptr && driver_->away_since != 0 && now - driver_->away_since >= kAway;
}

/// The same of a driver that stays away.
void Engine::stand_in() {
  const Nanoseconds now = clock_.now();
  ticking_ = true;
  if (!calls_host())
    go_on_for_a_while();
  else
    go_on_without_host(driver_->away_since, now);
  if (waiting_ != 0) turn_.notify_all();
}

void Engine::go_on_for_a_while() {
  // No descriptor tells of what comes through shared memory.
  for (unsigned looks = 0; looks < kLooksInARow && go_on(clock_.now()); ++looks) {
    vain_naps_ = 0;
    if (!core_.climbs()) break;
  }
}

/// Where what comes may have to be reduced by the host, for which callers have been away `since` then: other teams' lanes come up,
/// and peers hear that this process lives.
void Engine::go_on_without_host(Nanoseconds since, Nanoseconds now) {
  if (core_.wire(now)) vain_naps_ = 0;
  if (now - since < kShowLife || now - shown_ < kShowLife) return;
  shown_ = now;
  core_.show_life();
}

}  // namespace nezha
