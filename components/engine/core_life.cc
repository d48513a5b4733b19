// SPDX-License-Identifier: BSD-3-Clause
/// The part of the core that asks peers for signs of life, gives up operations with those that give none, and passes on that
/// others have.
#include <algorithm>
#include <string>

#include "engine/core.h"

namespace nezha {
namespace {

constexpr Nanoseconds kLifeEvery = 100 * kMillisecond;

}  // namespace

/// One end of a lane may not know that the other is gone. While a team is not ready nothing is sent that would find out, and
/// where it is the only lane of its pair the team would never be.
void Core::ask_for_life(const Team& team) {
  for (const Peer* peer : team.peers())
    if (peer != nullptr && peer->trunk->lanes_up() != 0) peer->trunk->quiet(clock_.now(), 0);
}

/// An operation does not wait for ever for a process that gives no sign of life: whatever the reason, no lane that works,
/// or the process stopped or gone.
void Core::watch_life(Nanoseconds now) {
  if (now < life_due_) return;
  life_due_ = now + kLifeEvery;
  const Nanoseconds timeout = config_.timeout * kSecond;
  const Nanoseconds ask_after = std::min(timeout / 4, kSecond);
  for (const auto& team : teams_) {
    for (std::size_t rank = 0; team->active() && rank < team->peers().size(); ++rank) {
      const Peer* peer = team->peers()[rank];
      if (peer != nullptr && peer->trunk->quiet(now, ask_after) >= timeout)
        give_up(*team, static_cast<int>(rank));
    }
  }
}

std::uint64_t Core::gave_up(const Team& team, int whom) {
  return static_cast<std::uint64_t>(team.rank()) << 32 | static_cast<std::uint32_t>(whom);
}

void Core::give_up(Team& team, int lost) {
  const Peer& peer = *team.peers()[static_cast<std::size_t>(lost)];
  std::string lanes;
  for (const Wire& wire : peer.wires) {
    if (!wire.was_up && !peer.needs(wire)) continue;  // it was not tried
    const std::string trouble = wire.trouble();
    lanes += (lanes.empty() ? "" : "; ") + wire.label + ": " + (trouble.empty() ? "no answer" : trouble);
  }
  fail(team, gave_up(team, lost),
       "no sign of life from " + peer.label() + " on any rail for coll_nezha_timeout = " +
           std::to_string(config_.timeout) + " s, seen from " + self_.node + " (" + lanes + ")");
}

/// Every member has to hear of it, from somebody whom it can still hear.
void Core::fail(Team& team, std::uint64_t who, const std::string& why) {
  log_.line(0, "team %s has failed: %s", team.name().c_str(), why.c_str());
  team.fail(why, who);
}

void Core::team_failed(TeamId id, std::uint64_t who) {
  Team* team = team_of(id);
  if (team == nullptr || !team->error().empty()) return;
  const auto label = [&](std::uint64_t rank) {
    if (rank >= team->peers().size()) return std::string("a rank that cannot be");
    const Peer* peer = team->peers()[rank];
    return peer == nullptr ? "this rank on " + self_.node : peer->label();
  };
  fail(*team, who, label(who >> 32) + " gave up: it had no sign of life from " + label(who & 0xffffffff) +
                       " on any rail within coll_nezha_timeout; its own message tells more");
}

}  // namespace nezha
