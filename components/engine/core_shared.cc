// SPDX-License-Identifier: BSD-3-Clause
/// The part of the core that is about memory which ranks of a node share: how they get it, and calls that go by way of
/// it.
#include <algorithm>
#include <exception>
#include <new>

#include "engine/core.h"

namespace nezha {
namespace {

constexpr Nanoseconds kJoinEvery = 500 * kMicrosecond;  ///< between looks at shared memory that is not there yet
constexpr Nanoseconds kCallEvery = 4 * kMillisecond;    ///< and at that which a call waits for
constexpr Nanoseconds kLookEvery = 50 * kMillisecond;   ///< and at other
/// Between two signs of life: an eighth of the shortest timeout that another rank may have, so that a few that come
/// late cost nobody the team.
constexpr Nanoseconds kBeatEvery = kSecond / 8;
constexpr std::size_t kAskedAtATime = 64;  ///< members of teams without a call, at a look

bool joins(const Team* team) {
  return team->state() == NEZHA_TEAM_WIRING && team->hierarchy() != nullptr && !team->hierarchy()->settled();
}

}  // namespace

Status Core::open_acceptor() {
  acceptor_.emplace();
  const Status status = acceptor_->open();
  if (status.ok())
    self_.acceptor = acceptor_->name();
  else
    acceptor_.reset();
  return status;
}

/// The first rank of a node has a connection to each other one, which have one to it; and the memory's own until all have it.
std::size_t Core::descriptors_of_memory(const Team& team) const {
  if (!config_.shared_memory) return 0;
  const std::span<Peer* const> peers = team.peers();
  const bool within_node = team.within_node();
  const auto mates = [&](std::span<Peer* const> some) {
    return static_cast<std::size_t>(std::count_if(some.begin(), some.end(), [&](const Peer* peer) {
      return peer != nullptr && (within_node || peer->address.node == self_.node);
    }));
  };
  const std::size_t all = mates(peers), before = mates(peers.first(static_cast<std::size_t>(team.rank())));
  const bool shares = within_node || all + 1 < peers.size();  // on one node with rails of its own they use those
  return all == 0 || !shares ? 0 : (before == 0 ? all : 1) + 1;
}

/// Teams get their memory at their first call, which may be long after they were made.
std::size_t Core::memory_to_come(const Team& team) const {
  std::size_t descriptors = descriptors_of_memory(team);
  for (const auto& each : teams_) {
    const Hierarchy* const hierarchy = each->hierarchy();
    if (each->state() != NEZHA_TEAM_WIRING || (hierarchy != nullptr && hierarchy->settled())) continue;
    descriptors += each->memory_descriptors - (hierarchy == nullptr ? 0 : hierarchy->connections());
  }
  return descriptors;
}

Hierarchy::Ticket Core::start_shared(Team& team, const Call& call, AlgorithmChoice choice, bool blocks) {
  wiring_.used(clock_.now());
  Hierarchy& hierarchy = *team.hierarchy();
  active_.add(team);
  if (!hierarchy.under_way()) climbing_.push_back(&team);
  try {
    return blocks ? hierarchy.begin(call, choice) : hierarchy.begin_request(call, choice);
  } catch (const NoRoom&) {
    break_off(team, std::current_exception());
    return {};
  }
}

bool Core::climb() {
  cork_.begin();
  try {
    const bool moved = climb_on();
    cork_.end();
    return moved;
  } catch (...) {
    cork_.end(true);
    throw;
  }
}

/// What the host's reduction throws is about this team, whoever drives.
bool Core::climb_on(Team& team) {
  try {
    return team.hierarchy()->poll();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    break_off(team, std::current_exception());
    return true;
  }
}

bool Core::climb_on() {
  bool moved = false;
  for (std::size_t i = 0; i < climbing_.size();) {
    Team& team = *climbing_[i];
    Hierarchy& hierarchy = *team.hierarchy();
    if (hierarchy.under_way()) moved = climb_on(team) || moved;
    std::string why;
    if (const int lost = hierarchy.lost_member(why); lost >= 0 && team.error().empty())
      fail(team, failure_of(team, Failure::Why::silent, lost),
           label(team, static_cast<std::size_t>(lost)) + ": " + why);
    if (hierarchy.under_way()) {
      ++i;
      continue;
    }
    climbing_.erase(climbing_.begin() + static_cast<std::ptrdiff_t>(i));
    moved = true;
  }
  return moved;
}

Hierarchy::Times Core::shared_times() const {
  Hierarchy::Times times = shared_before_;
  for (Team* const team : sharing_) times += team->hierarchy()->times();
  return times;
}

NodeMemory* Core::only_node() const {
  return climbing_.size() == 1 ? climbing_.front()->hierarchy()->only_node() : nullptr;
}

void Core::beat(Nanoseconds now) {
  if (beat_due_ == 0 || now < beat_due_) return;
  bool any = false;
  for (Team* const team : sharing_) any = team->hierarchy()->beat() || any;
  beat_due_ = any ? now + kBeatEvery : 0;
}

bool Core::joins_memory(Nanoseconds now) const {
  return acceptor_ && now - shared_ >= kJoinEvery && std::any_of(setting_up_.begin(), setting_up_.end(), joins);
}

/// Hands out shared memory, and gets it.
void Core::join_memory(Nanoseconds now) {
  shared_ = now;
  acceptor_->progress(now);
  for (Team* const team : setting_up_)
    if (joins(team)) team->hierarchy()->progress(now);
}

/// That of teams to come, and of those with calls; afterwards looks which ranks of this node have ended.
void Core::share_memory(Nanoseconds now) {
  beat(now);
  if (!acceptor_ || now - shared_ < kJoinEvery) return;
  const bool all = now - all_shared_ >= kLookEvery, called = !climbing_.empty() && now - shared_ >= kCallEvery;
  if (!all && !called && !joins_memory(now)) return;
  join_memory(now);
  for (Team* const team : climbing_) team->hierarchy()->progress(now);
  if (all) look_at_some(now);
}

/// At all teams in turn, and at few of many at a time: each look takes a system call for each member.
void Core::look_at_some(Nanoseconds now) {
  all_shared_ = now;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < sharing_.size() && asked < kAskedAtATime; ++i) {
    Hierarchy& hierarchy = *sharing_.begin()[looked_at_++ % sharing_.size()]->hierarchy();
    hierarchy.progress(now);
    asked += hierarchy.mates().size();
  }
}

}  // namespace nezha
