// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wiring.h"

#include <algorithm>

namespace nezha {
namespace {

constexpr Nanoseconds kRetry = 200 * kMillisecond;
constexpr Nanoseconds kLeisure = 5 * kSecond;  ///< between tries for a lane that others stand in for
constexpr Nanoseconds kAttempt = kSecond;  ///< longest time of one try to connect

}  // namespace

Wire* Wiring::wire_of(Peer& peer, RailPair rails) {
  const auto found =
      std::find_if(peer.wires.begin(), peer.wires.end(), [&](const Wire& wire) { return wire.rails == rails; });
  return found == peer.wires.end() ? nullptr : &*found;
}

void Wiring::due(Nanoseconds when) {
  if (next_due_ == 0 || when < next_due_) next_due_ = when;
}

void Wiring::want(Peer& peer, Nanoseconds now) {
  if (peer.wanted) return;
  peer.wanted = true;
  peer.wiring_deadline = now + patience_;
  peer.settled = peer.wires.empty();
  wanted_.push_back(&peer);
  due(now);
}

void Wiring::step(Nanoseconds now) {
  if (next_due_ == 0 || now < next_due_) return;
  next_due_ = 0;
  for (Peer* peer : wanted_) step_peer(*peer, now);
}

void Wiring::step_peer(Peer& peer, Nanoseconds now) {
  for (Wire& wire : peer.wires) {
    if (wire.state != Wire::State::idle || !peer.connects) continue;
    if (now < wire.next_try) {
      due(wire.next_try);
      continue;
    }
    wire.state = Wire::State::connecting;
    connect_(peer, wire, now + kAttempt);
  }
  if (!peer.settled && now >= peer.wiring_deadline) settle(peer);
  if (!peer.settled) due(peer.wiring_deadline);
}

/// Time is up: lanes that never came up are left out, and named. They are still tried for, at leisure.
void Wiring::settle(Peer& peer) {
  peer.settled = true;
  for (const Wire& wire : peer.wires) {
    if (wire.state == Wire::State::up) continue;
    const std::string why = wire.last_error.ok() ? "no connection came in" : wire.last_error.text();
    log_.line(1, "lane %s to %s is left out: %s", wire.label.c_str(), peer.label().c_str(), why.c_str());
    notices_.push_back({"lane left out", {wire.label, peer.label(), why}});
  }
}

void Wiring::lane_up(Peer& peer, RailPair rails) {
  Wire* wire = wire_of(peer, rails);
  wire->state = Wire::State::up;
  peer.dark_since = 0;
  peer.settled = peer.settled || std::all_of(peer.wires.begin(), peer.wires.end(),
                                             [](const Wire& w) { return w.state == Wire::State::up; });
  log_.line(2, "lane %s to %s is up", wire->label.c_str(), peer.label().c_str());
}

void Wiring::lane_failed(Peer& peer, RailPair rails, const Status& why, Nanoseconds now) {
  Wire* wire = wire_of(peer, rails);
  wire->last_error = why;
  wire->state = Wire::State::idle;
  wire->next_try = now + (peer.settled && peer.trunk->lanes_up() != 0 ? kLeisure : kRetry);
  log_.line(3, "lane %s to %s is not up yet: %s", wire->label.c_str(), peer.label().c_str(), why.text().c_str());
  due(wire->next_try);
}

void Wiring::lane_suspected(Peer& peer, RailPair rails, Nanoseconds silent) {
  log_.line(1, "lane %s to %s is suspect: no answer for %lld ms", wire_of(peer, rails)->label.c_str(),
            peer.label().c_str(), static_cast<long long>(silent / kMillisecond));
}

void Wiring::lane_forgiven(Peer& peer, RailPair rails) {
  log_.line(1, "lane %s to %s answers again", wire_of(peer, rails)->label.c_str(), peer.label().c_str());
}

void Wiring::lane_lost(Peer& peer, RailPair rails, const Status& why, Nanoseconds now) {
  Wire* wire = wire_of(peer, rails);
  wire->state = Wire::State::idle;
  wire->last_error = why;
  wire->next_try = now + kRetry;
  if (peer.trunk->lanes_up() == 0) peer.dark_since = now;
  // Who closes a lane between two frames has its reason and tells it; most often it has come to its end.
  const int level = why.code() == Code::closed ? 2 : 1;
  log_.line(level, "lane %s to %s is lost: %s", wire->label.c_str(), peer.label().c_str(), why.text().c_str());
  due(wire->next_try);
}

}  // namespace nezha
