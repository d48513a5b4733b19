// SPDX-License-Identifier: BSD-3-Clause
/// The part of the core that asks peers for signs of life, gives up operations with those that give none, and passes on
/// that others have.
#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <string>

#include "engine/core.h"

namespace nezha {
namespace {

constexpr Nanoseconds kLifeEvery = 100 * kMillisecond;
constexpr Nanoseconds kAggregatorSilence = 500 * kMillisecond;

/// Whose vector has how many bytes; of the larger ones only the remainder by 4 GiB is known of the other side.
std::string sizes(const Failure& failure, const std::string& by, const std::string& of) {
  const bool large = failure.expected > std::numeric_limits<std::uint32_t>::max();
  return by + " has a vector of " + std::to_string(failure.expected) + " bytes, " + of + " has one of " +
         std::to_string(failure.came) + (large ? " bytes modulo 4 GiB" : " bytes");
}

std::string words_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    return "the system refuses memory";
  } catch (const std::exception& known) {
    return std::string("an exception: ") + known.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace

/// One end of a lane may not know that the other is gone. While a team is not ready nothing is sent that would find
/// out, and where it is the only lane of its pair the team would never be.
void Core::ask_for_life(const Team& team) {
  for (const int rank : team.needed())
    if (Trunk& trunk = *team.peer(rank).trunk; trunk.lanes_up() != 0) trunk.quiet(clock_.now(), 0);
}

/// An operation does not wait for ever for a process that gives no sign of life: whatever the reason, no lane that
/// works, or the process stopped or gone. Only those that it waits for are asked: each of the others is waited for by
/// somebody, who tells all when it gives up.
void Core::watch_life(Nanoseconds now) {
  if (now < life_due_) return;
  life_due_ = now + kLifeEvery;
  for (Team* const team : active_) {
    watch_stars(*team, now);
    watch_members(*team, now);
  }
  active_.keep([](const Team& team) { return team.active(); });
}

void Core::watch_members(Team& team, Nanoseconds now) {
  const Nanoseconds timeout = config_.timeout * kSecond;
  const Nanoseconds ask_after = std::min(timeout / 4, kSecond);
  for (std::size_t i = 0; team.active() && i < team.watched().size(); ++i) {
    const int rank = team.watched()[i];
    if (!team.awaits(rank)) continue;
    const std::optional<Nanoseconds> in_memory = team.quiet_in_memory(rank, now);
    const Nanoseconds quiet = in_memory ? *in_memory : team.peer(rank).trunk->quiet(now, ask_after);
    if (quiet >= timeout) give_up(team, rank, in_memory.has_value());
  }
}

/// An aggregator that stands still is not waited for: the rails carry its part again.
void Core::watch_stars(Team& team, Nanoseconds now) {
  if (team.stars() == nullptr) return;
  team.stars()->each([now](Star& star) {
    if (!star.under_way() || star.trunk()->quiet(now, kLifeEvery) < kAggregatorSilence) return;
    star.trunk()->miss();
    star.give_up("no sign of life from it for " + std::to_string(kAggregatorSilence / kMillisecond) + " ms");
  });
}

Failure Core::failure_of(const Team& team, Failure::Why why, int of) {
  return {why, static_cast<std::uint32_t>(team.rank()), static_cast<std::uint32_t>(of < 0 ? team.rank() : of)};
}

void Core::give_up(Team& team, int lost, bool in_memory) {
  const Peer& peer = *team.peers()[static_cast<std::size_t>(lost)];
  const std::string without = "no sign of life from " + peer.label(),
                    for_long = " for coll_nezha_timeout = " + std::to_string(config_.timeout) + " s, seen from ";
  if (in_memory)
    return fail(team, failure_of(team, Failure::Why::silent, lost),
                without + " in the memory of its node" + for_long + label(team, static_cast<std::size_t>(team.rank())));
  std::string lanes;
  for (const Wire& wire : peer.wires) {
    if (!wire.was_up && !peer.needs(wire)) continue;  // it was not tried
    const std::string trouble = wire.trouble();
    lanes += (lanes.empty() ? "" : "; ") + wire.label + ": " + (trouble.empty() ? "no answer" : trouble);
  }
  fail(team, failure_of(team, Failure::Why::silent, lost),
       without + " on any rail" + for_long + self_.node + " (" + lanes + ")");
}

std::string Core::label(const Team& team, std::size_t rank) const {
  if (rank >= team.peers().size()) return "a rank that cannot be";
  const Peer* peer = team.peers()[rank];
  return peer == nullptr ? "this rank on " + self_.node : peer->label();
}

/// In the middle of a frame no team can fail.
void Core::settle_doubts() {
  doubts_ = false;
  for (const auto& team : teams_) {
    if (!team->doubt()) continue;
    const Team::Doubt doubt = *team->doubt();
    if (doubt.exception != nullptr)
      break_off(*team, doubt.exception);
    else
      fail(*team, doubt.failure,
           "counts or types differ between ranks: " +
               sizes(doubt.failure, label(*team, doubt.failure.by), label(*team, doubt.failure.of)) +
               "; what came is for bytes " + std::to_string(doubt.piece.offset) + " to " +
               std::to_string(doubt.piece.offset + doubt.piece.length) + ", step " + std::to_string(doubt.piece.step));
  }
}

void Core::break_off(Team& team, const std::exception_ptr& exception) {
  if (team.error().empty())
    fail(team, failure_of(team, Failure::Why::broken),
         label(team, static_cast<std::size_t>(team.rank())) + " cannot go on: " + words_of(exception));
}

/// Every member has to hear of it, from somebody whom it can still hear.
void Core::fail(Team& team, const Failure& failure, const std::string& why) {
  log_.line(0, "team %s has failed: %s", team.name().c_str(), why.c_str());
  team.fail(why, failure);
}

/// It was ready elsewhere before it was here, and has failed there. A counterpart that is no neighbour tells of the hierarchy.
void Core::take_early_failure(const Team& team) {
  const auto means = [&](TeamId id) {
    return id == team.id() || (team.hierarchy() != nullptr && team.hierarchy()->has(id));
  };
  for (const auto& [id, failure] : early_failures_)
    if (means(id)) return team_failed(id, failure);
}

void Core::team_failed(TeamId id, const Failure& failure) {
  Team* team = team_of(id);
  if (Star* const star = team != nullptr && team->stars() != nullptr ? team->stars()->find(id) : nullptr)
    return star->give_up("the service has given it up");
  if (team == nullptr && guests_ != nullptr) return guests_->failed(id);
  if (team == nullptr) early_failures_[early_failure_++ % early_failures_.size()] = {id, failure};
  if (team == nullptr || !team->error().empty()) return;
  const std::string by = label(*team, failure.by), of = label(*team, failure.of);
  switch (failure.why) {
    case Failure::Why::silent:
      return fail(*team, failure,
                  by + " gave up: it had no sign of life from " + of +
                      " on any rail within coll_nezha_timeout; its own message tells more");
    case Failure::Why::differs:
      return fail(*team, failure, by + " gave up: counts or types differ between ranks: " + sizes(failure, by, of));
    case Failure::Why::broken:
      return fail(*team, failure, by + " gave up: it cannot go on; its own message tells more");
    case Failure::Why::gone:
      return fail(*team, failure, by + " has given up the communicator");
  }
}

}  // namespace nezha
