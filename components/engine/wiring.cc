// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wiring.h"

#include <algorithm>
#include <cstdint>

namespace nezha {
namespace {

constexpr Nanoseconds kFirstRetry = 10 * kMillisecond;
constexpr Nanoseconds kRetry = 100 * kMillisecond;  ///< longest time between two tries for a lane that is wanted
/// For one that others have stood in for all the time, or nobody uses, or whose pair never had any: teams go without
/// that pair.
constexpr Nanoseconds kLeisure = 5 * kSecond;
constexpr Nanoseconds kSteady = kSecond;  ///< who dies younger has to wait longer each time: replays cost more than it brings
constexpr Nanoseconds kUnused = 2 * kSecond;   ///< without an operation
/// Within these the far end's kernel has to answer a try to connect: that of a lane that was up once does so at once, or its
/// network is still away, and then the next try finds out sooner than this one; behind full queues it takes longer after all.
constexpr Nanoseconds kAttempt = kSecond;
constexpr Nanoseconds kShortAttempt = 80 * kMillisecond;
constexpr Nanoseconds kLongAttempt = 400 * kMillisecond;
constexpr unsigned kLongEvery = 8;
/// After a lane has become suspect. The kernel has sent again by then what was lost, once, and waits twice as long from there.
constexpr Nanoseconds kFirstProbe = 300 * kMillisecond;
/// What comes back needs a moment: a question for a neighbour's address that is lost is asked again after a second only.
constexpr Nanoseconds kLinkSettles = 30 * kMillisecond;
/// How long lanes to a rank are waited for over a rail that has brought one to an aggregator, after those over all other rails have
/// come up. If the rail leads to the rank after all, its lane comes up later and is used from then on.
constexpr Nanoseconds kOwnNetwork = 300 * kMillisecond;

Nanoseconds attempt_of(const Wire& wire) {
  if (!wire.expected_up) return kAttempt;
  return wire.tries % kLongEvery == kLongEvery - 1 ? kLongAttempt : kShortAttempt;
}

/// Half of `longest` to all of it: otherwise all processes that lose a peer would come to it at once, again and again.
Nanoseconds jittered(Nanoseconds longest, std::uint64_t seed) {
  seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
  seed ^= seed >> 31;
  return longest / 2 + static_cast<Nanoseconds>(seed % static_cast<std::uint64_t>(longest / 2));
}

}  // namespace

Wire* Wiring::wire_of(Peer& peer, RailPair rails) {
  const auto found =
      std::find_if(peer.wires.begin(), peer.wires.end(), [&](const Wire& wire) { return wire.rails == rails; });
  return found == peer.wires.end() ? nullptr : &*found;
}

void Wiring::watched(const char* event, const Peer& peer, const Wire& wire, const std::string& why) const {
  if (watcher_ != nullptr) watcher_->lane(event, wire.label, peer.label(), why);
}

void Wiring::due(Nanoseconds when) { next_due_ = sooner(next_due_, when); }

void Wiring::want(Peer& peer, Nanoseconds now) {
  if (peer.wanted) return;
  wanted_.push_back(&peer);
  peer.wanted = true;
  peer.settled = peer.wired();  // lanes may have come up for the other side already
  due(now);
  if (peer.is_aggregator()) wanted_by(peer, now);  // no team agrees on its lanes: it has said so in a greeting
}

bool Wiring::wanted_by(Peer& peer, Nanoseconds now) {
  if (peer.wiring_deadline != 0) return false;
  peer.wiring_deadline = now + patience_;
  due(now);  // step_peer() finds out until when: its lanes may be up by now
  return true;
}

void Wiring::step(Nanoseconds now) {
  if (next_due_ == 0 || now < next_due_) return;
  next_due_ = 0;
  for (Peer* peer : wanted_) step_peer(*peer, now);
}

void Wiring::step_peer(Peer& peer, Nanoseconds now) {
  for (Wire& wire : peer.wires) step_wire(peer, wire, now);
  if (peer.settled || peer.wiring_deadline == 0) return;
  const Nanoseconds until = waits_until(peer);
  if (now >= until)
    settle(peer);
  else
    due(until);
}

/// By now only an aggregator has answered over that rail: its network may lead to no rank.
bool Wiring::is_aggregators_own(std::uint8_t local_rail) const {
  return local_rail != kLoopbackRail && over_aggregators_[local_rail] && !over_ranks_[local_rail];
}

/// Until when the peer's lanes are waited for, if all that lack are over aggregators' own networks; else to the usual time.
Nanoseconds Wiring::waits_until(const Peer& peer) const {
  Nanoseconds since = peer.wiring_deadline - patience_;
  bool any_up = false;
  for (const Wire& wire : peer.wires) {
    if (wire.there()) {
      any_up = true;
      since = std::max(since, wire.up_since);
    } else if (peer.needs(wire) && !is_aggregators_own(wire.rails.local)) {
      return peer.wiring_deadline;
    }
  }
  return any_up ? std::min(since + kOwnNetwork, peer.wiring_deadline) : peer.wiring_deadline;
}

void Wiring::step_wire(Peer& peer, Wire& wire, Nanoseconds now) {
  const bool calls = (peer.connects && peer.needs(wire)) || (wire.moved && peer.trunk->lanes_up() == 0);
  const bool suspect = wire.state == Wire::State::suspect;
  if (!suspect && (wire.state != Wire::State::idle || !calls)) return;
  if (now < wire.next_try) return due(wire.next_try);
  if (suspect && !peer.trunk->wants_lane(wire.rails.local, wire.rails.remote)) {
    wire.state = Wire::State::up;
    return;
  }
  wire.state = suspect ? Wire::State::probing : Wire::State::connecting;
  wire.attempt = ++attempts_;
  connect_(peer, wire, now + attempt_of(wire));
}

/// Time is up: lanes that never came up are left out, and named unless an aggregator's own network explains it. They are still
/// tried for, at leisure.
void Wiring::settle(Peer& peer) {
  peer.settled = true;
  for (const Wire& wire : peer.wires) {
    if (wire.there() || !peer.needs(wire)) continue;
    if (is_aggregators_own(wire.rails.local)) {
      log_.line(2, "lane %s to %s is left out: over this rail only an aggregator answers", wire.label.c_str(), peer.label().c_str());
      continue;
    }
    const std::string trouble = wire.trouble();
    const std::string why = trouble.empty() ? "no connection came in" : trouble;
    log_.line(1, "lane %s to %s is left out: %s", wire.label.c_str(), peer.label().c_str(), why.c_str());
    if (!peer.is_aggregator()) notices_.push_back({"lane left out", {wire.label, peer.label(), why}});
  }
}

void Wiring::used(Nanoseconds now) {
  const bool idle = now - used_ > kUnused;
  used_ = now;
  if (!idle) return;
  for (Peer* peer : wanted_)
    for (Wire& wire : peer->wires)
      if (wire.state == Wire::State::idle && wire.expected_up) wire.next_try = now;
  due(now);
}

void Wiring::try_soon(Wire& wire, Nanoseconds now) {
  wire.expected_up = true;
  wire.tries = 0;
  wire.next_try = now + kLinkSettles;
  due(wire.next_try);
}

void Wiring::rail_back(std::uint8_t local_rail, Nanoseconds now) {
  for (Peer* peer : wanted_)
    for (Wire& wire : peer->wires)
      if (wire.rails.local == local_rail) try_soon(wire, now);
}

void Wiring::peer_rail_back(Peer& peer, std::uint8_t remote_rail, Nanoseconds now) {
  for (Wire& wire : peer.wires)
    if (wire.rails.remote == remote_rail) try_soon(wire, now);
}

void Wiring::try_again(const Peer& peer, Wire& wire, Wire::State state, Nanoseconds now) {
  const bool spared = peer.settled && (peer.trunk->lanes_up() != 0 || !peer.was_up());
  const bool wanted = wire.expected_up && now - used_ <= kUnused;
  const Nanoseconds longest = spared && !wanted ? kLeisure : kRetry;
  const Nanoseconds doubled = kFirstRetry << std::min(wire.tries, 16U);
  const std::uint64_t pair = self_ * 0x9e3779b97f4a7c15 + peer.address.id;  // a mere sum is that of other pairs too
  const std::uint64_t seed = pair + wire.rails.local * 64 + wire.rails.remote * 1024 + wire.tries * 65536;
  wire.state = state;
  wire.next_try = now + jittered(wire.expected_up ? std::min(longest, doubled) : longest, seed);
  wire.tries += 1;
  due(wire.next_try);
}

void Wiring::lane_up(Peer& peer, RailPair rails, Nanoseconds now) {
  Wire* wire = wire_of(peer, rails);
  wire->state = Wire::State::up;
  if (wire->was_up) try_others(rails.local, now);
  wire->was_up = wire->expected_up = true;
  wire->up_since = now;
  wire->lost_for = wire->last_error = {};
  peer.settled = peer.settled || peer.wired();
  note_answer(peer, rails.local, now);
  log_.line(2, "lane %s to %s is up", wire->label.c_str(), peer.label().c_str());
  watched("up", peer, *wire, {});
}

/// What waits_until() goes by.
void Wiring::note_answer(const Peer& peer, std::uint8_t local_rail, Nanoseconds now) {
  if (local_rail == kLoopbackRail || (!peer.is_aggregator() && peer.same_node)) return;
  (peer.is_aggregator() ? over_aggregators_ : over_ranks_).set(local_rail);
  if (peer.is_aggregator())
    due(now);
  else if (over_aggregators_.any() && !peer.settled)
    due(now + kOwnNetwork);
}

/// Where one lane is back the others of its rail may be too.
void Wiring::try_others(std::uint8_t local_rail, Nanoseconds now) {
  for (Peer* peer : wanted_) {
    for (Wire& wire : peer->wires) {
      const bool waits = wire.state == Wire::State::idle || wire.state == Wire::State::suspect;
      if (wire.rails.local == local_rail && waits && wire.expected_up) wire.next_try = now;
    }
  }
  due(now);
}

void Wiring::lane_failed(Peer& peer, RailPair rails, std::uint64_t attempt, const Status& why, Nanoseconds now) {
  Wire* wire = wire_of(peer, rails);
  if (wire == nullptr || wire->attempt != attempt) return;
  const bool probed = wire->state == Wire::State::probing;
  if (!probed && wire->state != Wire::State::connecting) return;  // meanwhile the peer has connected, or the lane answers
  wire->last_error = why;
  try_again(peer, *wire, probed ? Wire::State::suspect : Wire::State::idle, now);
  if (rails.local == kLoopbackRail) due(now);  // for the spare ones
  log_.line(3, "lane %s to %s is not up yet: %s", wire->label.c_str(), peer.label().c_str(), why.text().c_str());
}

void Wiring::lane_suspected(Peer& peer, RailPair rails, Nanoseconds silent, Nanoseconds now) {
  Wire& wire = *wire_of(peer, rails);
  if (now - wire.up_since > kSteady) wire.tries = 0;
  wire.state = Wire::State::suspect;
  wire.next_try = now + kFirstProbe;
  due(wire.next_try);
  if (!log_.on(1) && watcher_ == nullptr) return;
  const std::string why = "no answer for " + std::to_string(silent / kMillisecond) + " ms";
  log_.line(1, "lane %s to %s is suspect: %s", wire.label.c_str(), peer.label().c_str(), why.c_str());
  watched("suspect", peer, wire, why);
}

void Wiring::lane_forgiven(Peer& peer, RailPair rails) {
  Wire& wire = *wire_of(peer, rails);
  wire.state = Wire::State::up;
  if (!log_.on(1) && watcher_ == nullptr) return;
  log_.line(1, "lane %s to %s answers again", wire.label.c_str(), peer.label().c_str());
  watched("answers", peer, wire, {});
}

void Wiring::lane_lost(Peer& peer, RailPair rails, const Status& why, Nanoseconds now) {
  Wire* wire = wire_of(peer, rails);
  wire->lost_for = why;
  wire->last_error = {};
  if (now - wire->up_since > kSteady) wire->tries = 0;
  try_again(peer, *wire, Wire::State::idle, now);
  // Who closes a lane between two frames has its reason and tells it; most often it has come to its end.
  const int level = ending_ || why.code() == Code::closed ? 2 : 1;
  log_.line(level, "lane %s to %s is lost: %s", wire->label.c_str(), peer.label().c_str(), why.text().c_str());
  watched("lost", peer, *wire, why.text());
}

}  // namespace nezha
