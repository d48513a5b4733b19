// SPDX-License-Identifier: BSD-3-Clause
/// Ranks of a simulated network, a team of all of them that has agreed, and an aggregation service, started by hand. All small
/// calls go through the service while it is in.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "engine/aggregation/aggregation.h"
#include "engine/core.h"
#include "rail/sim/transport.h"

namespace nezha::test {

class StarCluster {
 public:
  static constexpr int kTimeout = 2;  ///< seconds
  static constexpr std::size_t kFilling = 16;  ///< contributions of the largest size fill up the service's window
  static constexpr std::size_t kServiceWindow = kFilling * (kStarDescriptionSize + kLargestWhole);

  explicit StarCluster(int ranks) : network_({.segment = 4096}, 1) {
    start_service();
    for (int rank = 0; rank < ranks; ++rank) add_rank(rank);
    for (int rank = 0; rank < ranks; ++rank) {
      Member& own = member(rank);
      std::vector<Peer*> peers;
      for (int other = 0; other < ranks; ++other) {
        Status why;
        peers.push_back(other == rank ? nullptr : own.core->add_peer(encode_address(member(other).core->self()), false, why));
      }
      own.team = own.core->create_team("team", rank, std::move(peers));
    }
    agree();
    greet();
  }

  SimNetwork& network() { return network_; }
  SimPort& port(int rank) { return *ports_[static_cast<std::size_t>(rank) + 1]; }
  SimPort& service_port() { return *ports_[0]; }
  Core& core(int rank) { return *member(rank).core; }
  Aggregation& service() { return *aggregation_; }
  /// Its trunk to the service.
  Trunk& trunk(int rank) { return *member(rank).service->trunk; }
  /// How often the team began to use the service.
  std::size_t joined() const {
    return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), [](const std::string& line) {
      return line.find("reduces through") != std::string::npos;
    }));
  }

  /// The service's process does nothing meanwhile; its kernel goes on.
  void stop_service(bool stopped) { stopped_ = stopped; }
  void kill_service() {
    aggregation_.reset();
    service_.reset();
  }
  void kill(int rank) { member(rank).core.reset(); }

  // ---- calls
  /// That rank's part of a small allreduce: its number and one, so that sums are exact.
  void begin(int rank, nezha_type_t type = NEZHA_FLOAT) {
    Member& own = member(rank);
    std::iota(own.send.begin(), own.send.end(), static_cast<float>(rank + 1));
    own.recv.assign(own.send.size(), -1);
    own.what = {NEZHA_ALLREDUCE, own.send.data(), own.recv.data(), own.send.size(), sizeof(float), type, NEZHA_SUM, nullptr, nullptr, 0, 0};
    own.state = Member::State::asking;
    ask(own);
  }
  bool over(int rank) { return member(rank).state == Member::State::idle; }
  bool right(int rank) {
    const Member& own = member(rank);
    const auto ranks = static_cast<float>(members_.size());
    for (std::size_t i = 0; i < own.recv.size(); ++i)
      if (own.recv[i] != ranks * (ranks + 1) / 2 + ranks * static_cast<float>(i)) return false;
    return own.team->error().empty();
  }
  /// One call of all; false: it does not end, or has a wrong sum. `types`: by rank; floats where there is none.
  bool call(const std::vector<nezha_type_t>& types = {}) {
    const int ranks = static_cast<int>(members_.size());
    for (int rank = 0; rank < ranks; ++rank)
      begin(rank, types.empty() ? NEZHA_FLOAT : types[static_cast<std::size_t>(rank)]);
    bool all = drive([&] {
      bool ended = true;
      for (int rank = 0; rank < ranks; ++rank) ended = over(rank) && ended;
      return ended;
    });
    for (int rank = 0; rank < ranks; ++rank) all = all && right(rank);
    return all;
  }
  /// Calls until the team has begun to use the service for that time.
  bool join(std::size_t times = 1) {
    for (int calls = 0; joined() < times && calls < 5000; ++calls)
      if (!call()) return false;
    return joined() == times && call();
  }
  void destroy_team(int rank) {
    Member& own = member(rank);
    own.core->destroy_team(*own.team);
    own.team = nullptr;
  }

  void idle(Nanoseconds time) {
    const Nanoseconds until = network_.now() + time;
    drive([&] { return network_.now() >= until; });
  }
  /// Lets time pass until `done`, for at most a minute of it.
  bool drive(const std::function<bool()>& done) {
    const Nanoseconds limit = network_.now() + 60 * kSecond;
    while (!done()) {
      if (network_.now() >= limit) return false;
      network_.pass(50 * kMicrosecond);
      if (service_ != nullptr && !stopped_) {
        service_->progress(Watch::all);
        aggregation_->progress(network_.now());
        look_after(*service_);
      }
      for (const auto& own : members_)
        if (own->core != nullptr) turn(*own);
    }
    return true;
  }

 private:
  struct Member {
    enum class State { idle, asking, small, rails };
    std::unique_ptr<Core> core;
    Team* team = nullptr;
    Peer* service = nullptr;
    std::vector<float> send = std::vector<float>(10), recv;
    nezha_call_t what{};
    State state = State::idle;
    OpNumber number = 0;
  };

  Member& member(int rank) { return *members_[static_cast<std::size_t>(rank)]; }

  std::unique_ptr<Core> make_core(const Config& config, std::uint32_t rank, const std::string& node, ProcessId id) {
    const Log log([](void* lines, int, const char* line) { static_cast<std::vector<std::string>*>(lines)->push_back(line); },
                  &lines_, 1);
    ports_.push_back(std::make_unique<SimPort>(network_, SimPortOptions{}));
    auto core = std::make_unique<Core>(config, network_, rank == 0 ? log : Log(), rank, node, id, Secret{});
    core->add_transport(std::make_unique<SimTransport>(network_, network_, id, std::vector<SimPort*>{ports_.back().get()}, *core, [] {}));
    return core;
  }

  void start_service() {
    Config config;
    config.window = kServiceWindow;
    service_ = make_core(config, kNoRank, "service", 1000);
    aggregation_ = std::make_unique<Aggregation>(*service_, Secret{}, Aggregation::Limits{});
  }

  void add_rank(int rank) {
    Config config;
    config.learn = false;
    config.reproducible = true;
    config.window = 256 * 1024;
    config.timeout = kTimeout;
    config.aggregators.entries.push_back({"simulated", 1});
    config.aggregator_share.per_cent = 100;
    members_.push_back(std::make_unique<Member>());
    Member* const own = members_.back().get();
    own->core = make_core(config, static_cast<std::uint32_t>(rank), "n" + std::to_string(rank), static_cast<ProcessId>(rank) + 1);
    own->core->find_aggregators_by([own] { return std::vector<Peer*>{own->service}; });
  }

  void greet() {
    for (const auto& own : members_) {
      ASSERT_TRUE(aggregation_->admit(own->core->self(), Secret{}, network_.now()));
      own->service = own->core->add_outsider(service_->self(), Secret{});
    }
    EXPECT_TRUE(drive([&] {
      return std::all_of(members_.begin(), members_.end(), [](const auto& own) { return own->service->trunk->lanes_up() != 0; });
    }));
  }

  void agree() {
    EXPECT_TRUE(drive([&] {
      std::array<std::uint64_t, NEZHA_VOTE_WORDS> all{}, words{};
      for (const auto& own : members_) {
        own->core->vote(*own->team, words);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] |= words[i];
      }
      bool ready = true;
      for (const auto& own : members_) ready = own->core->decide(*own->team, all) == NEZHA_TEAM_READY && ready;
      return ready;
    }));
  }

  void look_after(Core& core) {
    core.step(network_.now());
    if (network_.now() % (2 * kMillisecond) == 0) core.settle();
  }

  void turn(Member& own) {
    own.core->progress(Watch::all);
    look_after(*own.core);
    switch (own.state) {
      case Member::State::asking:
        if (!own.team->finished(own.number)) return;
        own.core->small_agreed(*own.team, own.what);
        return ask(own);
      case Member::State::small:
        if (own.core->small_settled(*own.team)) own.state = Member::State::idle;
        return;
      case Member::State::rails:
        if (!own.team->finished(own.number)) return;
        own.core->small_confirmed(*own.team);
        own.state = Member::State::idle;
        return;
      case Member::State::idle:
        return;
    }
  }

  /// As Engine::carry() does it.
  void ask(Member& own) {
    Core& core = *own.core;
    Call call;
    call.send = static_cast<const std::byte*>(own.what.send);
    call.recv = static_cast<std::byte*>(own.what.recv);
    call.count = own.what.count;
    call.element = own.what.element;
    call.chunk = call.bytes();
    call.star.type = own.what.type;
    call.star.op = own.what.op;
    call.reducer = {find_kernel(NEZHA_FLOAT, NEZHA_SUM), nullptr, nullptr, nullptr, sizeof(float)};
    Star* star = nullptr;
    if (Core::may_go_small(*own.team, own.what)) {
      if (const std::optional<Call> words = core.small_words(*own.team, own.what)) {
        own.number = core.start(*own.team, *words, own.team->agreement_algorithm());
        own.state = Member::State::asking;
        return;
      }
      star = core.star_for_small(*own.team, own.what);
    }
    own.state = star != nullptr ? Member::State::small : Member::State::rails;
    if (star != nullptr)
      core.begin_small(*own.team, call, *star);
    else
      own.number = core.start(*own.team, call, AlgorithmChoice::single_step);
  }

  SimNetwork network_;
  std::vector<std::string> lines_;
  std::vector<std::unique_ptr<SimPort>> ports_;  ///< the service's, and those of the ranks
  std::unique_ptr<Core> service_;
  std::unique_ptr<Aggregation> aggregation_;
  std::vector<std::unique_ptr<Member>> members_;
  bool stopped_ = false;
};

}  // namespace nezha::test
