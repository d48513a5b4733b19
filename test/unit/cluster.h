// SPDX-License-Identifier: BSD-3-Clause
/// Whole cores over a simulated network, started by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/core.h"
#include "rail/sim/transport.h"

namespace nezha::test {

struct Rails {
  std::vector<double> rates;  ///< bytes per nanosecond
  std::string share;
  std::string window = "256k";
  int mesh_peers = 32;
  int mesh_peers_of_last = -1;  ///< of the last rank; -1: as the others
};

/// N cores whose lanes are up, with one team that has agreed.
class Cluster {
 public:
  /// `before`: operations that the team counts as over.
  Cluster(int ranks, const Rails& rails, std::uint64_t seed, OpNumber before = 0) : network_({.segment = 4096}, seed) {
    Config config;
    if (!rails.share.empty() && !set_parameter(config, "share", rails.share).ok()) ADD_FAILURE();
    if (!set_parameter(config, "window", rails.window).ok()) ADD_FAILURE();
    config.mesh_peers = rails.mesh_peers;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<SimPort*> ports;
      for (std::size_t i = 0; i < rails.rates.size(); ++i) {
        SimPortOptions options;
        options.name = "sim" + std::to_string(i);
        options.network = static_cast<std::uint8_t>(i);
        options.rate = rails.rates[i];
        options.jitter = 50 * kMicrosecond;
        ports_.push_back(std::make_unique<SimPort>(network_, options));
        ports.push_back(ports_.back().get());
      }
      if (rank == ranks - 1 && rails.mesh_peers_of_last >= 0) config.mesh_peers = rails.mesh_peers_of_last;
      const auto id = static_cast<ProcessId>(rank) + 1;
      cores_.push_back(std::make_unique<Core>(config, network_, Log(), static_cast<std::uint32_t>(rank),
                                              "n" + std::to_string(rank), id, Secret{}));
      Core& core = *cores_.back();
      core.add_transport(std::make_unique<SimTransport>(network_, network_, id, ports, core, [] {}));
    }
    for (int rank = 0; rank < ranks; ++rank) teams_.push_back(make_team(rank, before));
    agree();
  }

  Nanoseconds now() const { return network_.now(); }
  SimNetwork& network() { return network_; }

  std::size_t size() const { return cores_.size(); }
  Core& core(std::size_t rank) { return *cores_[rank]; }
  Team& team(std::size_t rank) { return *teams_[rank]; }
  /// Goes on with another team of all; the ones before stay.
  void renew() {
    for (std::size_t rank = 0; rank < size(); ++rank) teams_[rank] = make_team(static_cast<int>(rank), 0);
    agree();
  }

  /// Nobody calls for so long.
  void idle(Nanoseconds time) {
    const Nanoseconds until = now() + time;
    EXPECT_TRUE(drive([&] { return now() >= until; }));
  }

  /// Bytes of buffers of the core that has most.
  std::size_t buffers() const {
    std::size_t most = 0;
    for (const auto& core : cores_) most = std::max(most, core->buffers().bytes());
    return most;
  }

  /// One rank's part of an allreduce of sums, in chunks of so many elements.
  template <typename T>
  void begin(std::size_t rank, std::span<const T> send, T* recv, AlgorithmChoice choice, std::size_t chunk,
             nezha_type_t type) {
    Call call;
    call.send = reinterpret_cast<const std::byte*>(send.data());
    call.recv = reinterpret_cast<std::byte*>(recv);
    call.count = send.size();
    call.element = sizeof(T);
    call.chunk = chunk * sizeof(T);
    call.reducer = {find_kernel(type, NEZHA_SUM), nullptr, nullptr, nullptr, sizeof(T)};
    cores_[rank]->start(*teams_[rank], call, choice);
  }

  /// One allreduce; the result of every rank. Rank `late` begins when the others' pieces have come.
  template <typename T>
  std::vector<std::vector<T>> run(const std::vector<std::vector<T>>& sources, AlgorithmChoice choice, std::size_t chunk,
                                  nezha_type_t type, bool in_place, int late = -1) {
    std::vector<std::vector<T>> send = sources, recv(sources.size(), std::vector<T>(sources[0].size()));
    const auto start = [&](std::size_t rank) {
      begin(rank, std::span<const T>(send[rank]), in_place ? send[rank].data() : recv[rank].data(), choice, chunk,
            type);
    };
    for (std::size_t rank = 0; rank < cores_.size(); ++rank)
      if (static_cast<int>(rank) != late) start(rank);
    if (late >= 0) {
      drive([until = now() + 5 * kMillisecond, this] { return now() >= until; });
      start(static_cast<std::size_t>(late));
    }
    EXPECT_TRUE(all_finish());
    return in_place ? send : recv;
  }

  /// Until all that is under way has ended.
  bool all_finish() {
    return drive([&] {
      bool all = true;
      for (Team* team : teams_) all = team->finished() && all;
      return all;
    });
  }

  /// Lets time pass until `done`, for at most a minute of it.
  template <typename Done>
  bool drive(const Done& done) {
    const Nanoseconds limit = network_.now() + 60 * kSecond;
    while (network_.now() < limit) {
      network_.pass(50 * kMicrosecond);
      for (const auto& core : cores_) {
        core->step(network_.now());
        core->progress(Watch::all);
      }
      if (done()) return true;
    }
    return false;
  }

 private:
  Team* make_team(int own, OpNumber before) {
    std::vector<Peer*> peers;
    Status why;
    for (int rank = 0; rank < static_cast<int>(cores_.size()); ++rank)
      peers.push_back(rank == own ? nullptr : at(own).add_peer(encode_address(at(rank).self()), false, why));
    EXPECT_TRUE(why.ok()) << why.text();
    return at(own).create_team("team", own, std::move(peers), before);
  }
  Core& at(int rank) { return *cores_[static_cast<std::size_t>(rank)]; }

  void agree() {
    EXPECT_TRUE(drive([&] {
      std::array<std::uint64_t, NEZHA_VOTE_WORDS> all{}, words;
      for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
        cores_[rank]->vote(*teams_[rank], words);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] |= words[i];
      }
      bool ready = true;
      for (std::size_t rank = 0; rank < cores_.size(); ++rank)
        ready = cores_[rank]->decide(*teams_[rank], all) == NEZHA_TEAM_READY && ready;
      return ready;
    }));
  }

  SimNetwork network_;
  std::vector<std::unique_ptr<SimPort>> ports_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<Team*> teams_;
};

}  // namespace nezha::test
