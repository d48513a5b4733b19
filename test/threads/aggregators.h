// SPDX-License-Identifier: BSD-3-Clause
/// Aggregators with real sockets in threads of a test, and calls whose sums are compared with those of a ring.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/aggregation/aggregator_key.h"
#include "engine/aggregation/aggregator_server.h"
#include "kinds.h"

namespace nezha::test {

/// With mode 0600.
class KeyFile {
 public:
  explicit KeyFile(const std::string& text) : path_(testing::TempDir() + "nezha-key-" + std::to_string(getpid()) + "-" + text) {
    std::ofstream(path_) << text << std::string(32, 'k');
    chmod(path_.c_str(), 0600);
  }
  ~KeyFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  Secret key() const {
    Secret key{};
    EXPECT_TRUE(read_aggregator_key({path_}, key).ok());
    return key;
  }

 private:
  std::string path_;
};

/// In a thread of its own, until its end.
class Aggregator {
 public:
  /// `upstream`: the port of the upstream aggregator; 0: none.
  explicit Aggregator(const Secret& key, std::uint16_t port = 0, std::uint64_t memory = std::uint64_t{1} << 30,
                      std::uint16_t upstream = 0) {
    AggregatorServer::Options options;
    EXPECT_TRUE(set_parameter(options.config, "single_node", "2").ok());
    if (upstream != 0) options.config.aggregators.entries.push_back({"127.0.0.1", upstream});
    options.node = "aggregator";
    options.host = "127.0.0.1";
    options.port = port;
    options.key = key;
    options.limits.memory = memory;
    server_ = std::make_unique<AggregatorServer>(options, Log(log, this, 2));
    Notices notices;
    const Status status = server_->open(notices);
    EXPECT_TRUE(status.ok()) << status.text();
    next_key_ = key;
    thread_ = std::thread([this] {
      while (server_->run()) {
        while (halted_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        server_->change(next_key_, {});
      }
    });
  }
  ~Aggregator() { stop(); }
  void stop() {
    go_on();
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }
  /// Once.
  void reload(const Secret& key) {
    next_key_ = key;
    server_->reload();
  }
  /// Stands still from now on, or a moment later, until go_on(); its kernel does not.
  void halt() {
    halted_ = true;
    server_->reload();
  }
  void go_on() { halted_ = false; }
  /// Goes on until what is under way has ended, then stops.
  void finish() {
    stop();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (server_->service().busy() && std::chrono::steady_clock::now() < until) server_->turn();
  }
  std::uint16_t port() const { return server_->port(); }
  bool logged(const std::string& words) const {
    const std::lock_guard guard(mutex_);
    return log_.find(words) != std::string::npos;
  }
  /// Once it has stopped.
  const Aggregation& service() const { return server_->service(); }

 private:
  static void log(void* aggregator, int, const char* line) {
    Aggregator& self = *static_cast<Aggregator*>(aggregator);
    const std::lock_guard guard(self.mutex_);
    self.log_ += std::string(line) + "\n";
  }

  mutable std::mutex mutex_;
  std::string log_;
  std::unique_ptr<AggregatorServer> server_;
  Secret next_key_{};
  std::atomic<bool> halted_ = false;
  std::thread thread_;
};

inline std::vector<std::string> nodes(int size) {
  std::vector<std::string> names;
  for (int rank = 0; rank < size; ++rank) names.push_back("n" + std::to_string(rank));
  return names;
}

inline std::string place(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

inline Settings settings(std::uint16_t port, const std::string& key, const std::string& share) {
  return {{"single_node", "2"},
          {"verbose", "1"},
          {"aggregators", place(port)},
          {"aggregator_key", key},
          {"aggregator_share", share}};
}

inline bool said(const Rank& rank, const std::string& words) {
  const std::vector<std::string> lines = rank.lines();
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

/// So many calls on every rank, one after the other; the sums are those of a ring.
inline void add_up(Ranks& ranks, Team& team, const std::string& name, std::size_t count, bool in_place, int calls = 1) {
  const Kind& sum = kind(name);
  const std::vector<int> order = ranks.ring_order(team.members());
  const Sums& sums = ring_sums(sum, count, order);
  ranks.run([&](int rank) {
    if (!team.has(rank)) return;
    const std::vector<std::byte>& send = sums.vectors[static_cast<std::size_t>(rank)];
    for (int call = 0; call < calls; ++call) {
      std::vector<std::byte> recv(in_place ? send : std::vector<std::byte>(send.size()));
      const std::byte* from = in_place ? recv.data() : send.data();
      ASSERT_EQ(team.allreduce(rank, make_call(sum, count, from, recv.data())), NEZHA_OK);
      ASSERT_TRUE(same_bytes(recv, sums.result)) << "on rank " << rank << ", " << count << " of " << name;
    }
  });
}

/// Eighteen such calls: of several types and sizes, in place or not.
inline void add_up_all(Ranks& ranks, Team& team) {
  for (const char* name : {"float_sum", "double_sum", "int32_sum"})
    for (const std::size_t count : {std::size_t{262144}, std::size_t{300001}, std::size_t{1000003} / (slowed_down() ? 2 : 1)})
      for (const bool in_place : {false, true}) add_up(ranks, team, name, count, in_place);
}

inline void wait_ms(int time) { std::this_thread::sleep_for(std::chrono::milliseconds(time)); }

/// How often the team began to use one.
inline std::size_t joined(const Rank& rank) {
  const std::vector<std::string> lines = rank.lines();
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("reduces through") != std::string::npos;
  }));
}

/// Calls until the team uses an aggregator, for that time.
inline bool joins(Ranks& ranks, Team& team, std::size_t times = 1) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (joined(ranks.at(team.members()[0])) < times) {
    if (std::chrono::steady_clock::now() > until) return false;
    add_up(ranks, team, "int32_sum", 1 << 18, false);
    wait_ms(20);  // it is there after some time, not after some calls
  }
  return true;
}

/// Calls on every rank, of which each checks its sums, beside what `meanwhile` does.
inline void add_up_while(Ranks& ranks, Team& team, const std::function<void()>& meanwhile, const std::string& name = "float_sum") {
  std::atomic<bool> over = false;
  std::thread other([&] {
    meanwhile();
    over = true;
  });
  for (bool in_place = false; !over; in_place = !in_place) add_up(ranks, team, name, 1000003, in_place);
  add_up(ranks, team, name, 1000003, false);
  other.join();
}

/// On a machine with too much to do some thread may not run for half a second, so that others find no sign of life in it.
/// Teams then go on over the rails for some calls, and how many operations an aggregator has served depends on the machine.
inline bool lost_patience(Ranks& ranks, const std::vector<const Aggregator*>& aggregators) {
  const char* const words = "no sign of life";
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (said(ranks.at(rank), words)) return true;
  return std::any_of(aggregators.begin(), aggregators.end(), [&](const Aggregator* one) { return one->logged(words); });
}

/// Of one that has finished: every operation went through it, and left nothing behind.
inline void expect_served(const Aggregator& aggregator, std::size_t operations, bool patient) {
  EXPECT_EQ(aggregator.service().memory(), 0U);
  if (!patient) return;
  EXPECT_GE(aggregator.service().counts().operations, operations);
  EXPECT_EQ(aggregator.service().counts().given_up, 0U);
}

}  // namespace nezha::test
