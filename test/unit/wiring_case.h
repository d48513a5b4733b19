// SPDX-License-Identifier: BSD-3-Clause
/// One process's wiring to two peers, for tests of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/wiring.h"
#include "trunk_pair.h"

namespace nezha::test {

/// One process's wiring to two peers over two rails each; connecting is counted, and fails unless `open`.
class WiringTest : public testing::Test {
 protected:
  WiringTest() : wiring_(wiring_of(1)) {
    for (Peer& peer : peers_) {
      peer.address.id = 100 + static_cast<ProcessId>(&peer - peers_);
      peer.connects = true;
      peer.trunk = std::make_unique<Trunk>(peer.address.id, TrunkOptions{}, TrunkOwner{receiver_, receiver_, receiver_},
                                           clock_, log_);
      for (std::uint8_t rail : {0, 1}) {
        peer.wires.emplace_back().rails = {rail, rail};
        peer.trunk->add_lane(rail, rail, loads_[rail]);
      }
      wiring_.want(peer, clock_.now());
      wiring_.wanted_by(peer, clock_.now());
    }
  }

  /// That of the process with this id.
  Wiring wiring_of(ProcessId self) {
    const auto connect = [this](const Peer& peer, const Wire& wire, Nanoseconds) {
      tried_.push_back({&peer, wire.rails, wire.attempt});
    };
    return {self, 5 * kSecond, connect, log_, notices_};
  }
  /// How often lanes over `rail` were tried in that time, in which none of them succeeds.
  std::size_t tries(std::uint8_t rail, Nanoseconds time) {
    std::size_t count = 0;
    for (const Nanoseconds until = clock_.now() + time; clock_.now() < until; clock_.advance(kMillisecond)) {
      wiring_.step(clock_.now());
      for (const Try& each : std::exchange(tried_, {})) {
        count += each.rails.local == rail ? 1 : 0;
        wiring_.lane_failed(const_cast<Peer&>(*each.peer), each.rails, each.attempt, {Code::io, "no"}, clock_.now());
      }
    }
    return count;
  }
  void all_up() {
    wiring_.step(clock_.now());
    for (const Try& each : std::exchange(tried_, {}))
      wiring_.lane_up(const_cast<Peer&>(*each.peer), each.rails, clock_.now());
  }
  void want_over_rail_1(Peer& aggregator) {
    aggregator.address.id = 7;
    aggregator.address.job_rank = kNoRank;
    aggregator.wires.emplace_back().rails = {1, 0};
    aggregator.trunk = std::make_unique<Trunk>(7, TrunkOptions{}, TrunkOwner{receiver_, receiver_, receiver_}, clock_, log_);
    wiring_.want(aggregator, clock_.now());
    wiring_.step(clock_.now());
  }
  void suspect(std::uint8_t rail) {
    for (Peer& peer : peers_) wiring_.lane_suspected(peer, {rail, rail}, 30 * kMillisecond, clock_.now());
  }
  void lose(std::uint8_t rail, Code why = Code::io) {
    for (Peer& peer : peers_) wiring_.lane_lost(peer, {rail, rail}, {why, "gone"}, clock_.now());
  }

  struct Try {
    const Peer* peer;
    RailPair rails;
    std::uint64_t attempt;
  };
  TestClock clock_;
  static void write_line(void* ctx, int level, const char* line) {
    static_cast<WiringTest*>(ctx)->lines_.emplace_back(std::to_string(level) + " " + line);
  }

  /// Keeps what it is told: event, peer, why.
  struct Told final : LaneWatcher {
    void lane(std::string_view event, std::string_view, std::string_view, std::string_view why) override {
      events.push_back(std::string(event) + ": " + std::string(why));
    }
    std::vector<std::string> events;
  };

  std::vector<std::string> lines_;  ///< each behind its level
  Log log_{write_line, this, 2};
  Notices notices_;
  TestReceiver receiver_;
  RailLoad loads_[2];
  Peer peers_[2];
  std::vector<Try> tried_;
  Wiring wiring_;
};

}  // namespace nezha::test
