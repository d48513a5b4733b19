// SPDX-License-Identifier: BSD-3-Clause
/// A simulated aggregation service, and clients of it that say whatever a test has them say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "alg/star.h"
#include "engine/aggregation/aggregation.h"
#include "engine/core.h"
#include "rail/sim/transport.h"

namespace nezha::test {

/// A core with a rail for each port. Ports outlive the processes that they have lanes to.
class RawProcess {
 public:
  RawProcess(SimNetwork& network, SimPort& port, std::uint32_t job_rank, ProcessId id, const Log& log = Log())
      : RawProcess(network, std::vector<SimPort*>{&port}, job_rank, id, log) {}
  RawProcess(SimNetwork& network, std::vector<SimPort*> ports, std::uint32_t job_rank, ProcessId id, const Log& log = Log())
      : network_(network) {
    Config config;
    config.window = 256 * 1024;
    core_ = std::make_unique<Core>(config, network, log, job_rank, "n" + std::to_string(id), id, Secret{});
    core_->add_transport(std::make_unique<SimTransport>(network, network, id, std::move(ports), *core_, [] {}));
  }

  Core& core() { return *core_; }
  /// Of a process that stands still nothing but the kernel goes on.
  void stand_still(bool still) { still_ = still; }
  bool turn() {
    if (still_) return false;
    core_->progress(Watch::all);
    core_->step(network_.now());
    if (network_.now() % (2 * kMillisecond) == 0) core_->settle();
    return true;
  }
  std::uint64_t reconnections() const { return core_->loads().front().reconnections; }

 private:
  SimNetwork& network_;
  std::unique_ptr<Core> core_;
  bool still_ = false;
};

class RawClient final : public Guests {
 public:
  struct Heard {
    TeamId team;
    OpNumber op;
    std::uint16_t step;
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };

  RawClient(SimNetwork& network, SimPort& port, std::uint32_t job_rank, ProcessId id)
      : RawClient(network, std::vector<SimPort*>{&port}, job_rank, id) {}
  RawClient(SimNetwork& network, std::vector<SimPort*> ports, std::uint32_t job_rank, ProcessId id)
      : process_(network, std::move(ports), job_rank, id) {
    core().serve(*this);
  }

  RawProcess& process() { return process_; }
  Core& core() { return process_.core(); }
  void greet(Aggregation& aggregation, Nanoseconds now, const Secret& secret = {}) {
    ASSERT_TRUE(aggregation.admit(core().self(), secret, now));
    service_ = core().add_outsider(aggregation.address(), secret);
    ASSERT_NE(service_, nullptr);
  }
  /// As an upstream aggregator, which `rack` has greeted. Returns what that has of it.
  Peer* be_upstream(Core& rack) {
    service_ = core().add_outsider(rack.self(), {});
    return rack.add_outsider(core().self(), {});
  }
  Trunk& trunk() { return *service_->trunk; }
  /// `whole`: bytes of the operation's vector. `rails`: by which it goes.
  void say(TeamId team, OpNumber op, std::uint16_t step, std::uint64_t offset, std::span<const std::byte> bytes, std::size_t whole,
           RailSet rails = 0) {
    Flow& flow = flows_.emplace_back();
    const std::vector<std::byte>& kept = said_.emplace_back(bytes.begin(), bytes.end());
    flow.open(team, op, kStarGrain, false, rails, static_cast<std::uint32_t>(whole));
    flow.begun = true;
    trunk().send(flow, {.data = kept.data(), .offset = offset, .size = static_cast<std::uint32_t>(kept.size()), .step = step});
  }
  /// Pieces of that step.
  std::size_t heard(TeamId team, std::uint16_t step) const {
    return static_cast<std::size_t>(
        std::count_if(heard_.begin(), heard_.end(), [&](const Heard& each) { return each.team == team && each.step == step; }));
  }
  /// The bytes of the latest of these; none: empty.
  std::vector<std::byte> latest(TeamId team, std::uint16_t step, std::uint64_t offset) const {
    const auto found = std::find_if(heard_.rbegin(), heard_.rend(), [&](const Heard& each) {
      return each.team == team && each.step == step && each.offset == offset;
    });
    return found == heard_.rend() ? std::vector<std::byte>() : found->bytes;
  }
  bool told_failed(TeamId team) const { return std::find(failed_.begin(), failed_.end(), team) != failed_.end(); }

  // Guests
  Placement place(Trunk&, const PieceHeader&) override { return {PlaceKind::scratch}; }
  void arriving(Trunk&, const PieceHeader&) override {}
  bool arrived(Trunk&, const PieceHeader& piece, const std::byte* data) override {
    heard_.push_back({piece.team, piece.op, piece.step, piece.offset, {data, data + piece.length}});
    return true;
  }
  bool has_begun(TeamId, OpNumber) override { return true; }
  void peer_at(Trunk&, TeamId, OpNumber, OpNumber) override {}
  void failed(TeamId id) override { failed_.push_back(id); }
  void going(const Trunk&) override {}

 private:
  std::deque<std::vector<std::byte>> said_;  ///< outlives the core, as do the flows
  std::deque<Flow> flows_;
  RawProcess process_;
  Peer* service_ = nullptr;
  std::vector<Heard> heard_;
  std::vector<TeamId> failed_;
};

}  // namespace nezha::test
