// SPDX-License-Identifier: BSD-3-Clause
/// What one rank of a team has to do as teams grow: whole engines on a simulated network, one team, small allreduces.
///
///   work_of_ranks RANKS [PARAMETER=VALUE]...
///
/// Prints lines of a name and a number: lanes of rank 0, peers that it has lanes to, and bytes that a process takes.
/// Under valgrind's callgrind (with --collect-atstart=no) it dumps what rank 0's engine did to make its team known and
/// agree ("start"), in one call of 8 bytes ("call"), and in one look while nothing is under way ("tick"):
/// test_work_of_ranks.py. The simulated network is among it; its functions can be told by their files.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "engine/core.h"
#include "rail/sim/transport.h"
#include "reduce/kernels.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace {

using namespace nezha;

constexpr Nanoseconds kStep = 50 * kMicrosecond;
constexpr Nanoseconds kRest = 3 * kSecond;  ///< after it nothing is outstanding, and no timer of a call is left
constexpr int kWarm = 4;

/// Bytes of memory of this process.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// What rank 0's engine does while one lives is counted.
class Counted {
 public:
  explicit Counted(std::size_t rank) : counts_(rank == 0) { toggle(); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { toggle(); }

 private:
  void toggle() const {
    if (!counts_) return;
    CALLGRIND_TOGGLE_COLLECT;
  }
  bool counts_;
};

class Job {
 public:
  Job(std::size_t ranks, const Config& config) : network_({}, 1), values_(ranks, 1), teams_(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      ports_.push_back(std::make_unique<SimPort>(network_, SimPortOptions{.name = "sim0", .rate = 1}));
      const ProcessId id = rank + 1;
      cores_.push_back(std::make_unique<Core>(config, network_, Log(), static_cast<std::uint32_t>(rank),
                                              "n" + std::to_string(rank), id, Secret{}));
      Core& core = *cores_.back();
      core.add_transport(std::make_unique<SimTransport>(network_, network_, id,
                                                        std::vector<SimPort*>{ports_.back().get()}, core, [] {}));
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) teams_[rank] = make_team(rank);
  }

  bool agree() {
    return drive([&] {
      std::array<std::uint64_t, NEZHA_VOTE_WORDS> all{}, words;
      for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
        const Counted counted(rank);
        cores_[rank]->vote(*teams_[rank], words);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] |= words[i];
      }
      bool ready = true;
      for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
        const Counted counted(rank);
        ready = cores_[rank]->decide(*teams_[rank], all) == NEZHA_TEAM_READY && ready;
      }
      return ready;
    });
  }

  /// An allreduce of 8 bytes, by what the plan chooses for it.
  bool call() {
    const std::uint64_t wanted = values_.size();
    values_.assign(values_.size(), 1);
    for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
      Call call;
      call.send = call.recv = reinterpret_cast<std::byte*>(&values_[rank]);
      call.count = 1;
      call.element = call.chunk = sizeof(std::uint64_t);
      call.reducer = {find_kernel(NEZHA_UINT64, NEZHA_SUM), nullptr, nullptr, nullptr, call.element};
      const Counted counted(rank);
      Team& team = *teams_[rank];
      cores_[rank]->start(team, call, team.plan().choose(call.bytes(), call.element, team.size()));
    }
    const bool ended = drive([&] {
      bool all = true;
      for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
        const Counted counted(rank);
        all = teams_[rank]->finished() && all;
      }
      return all;
    });
    for (const std::uint64_t value : values_)
      if (value != wanted) return false;
    return ended;
  }

  void rest() {
    const Nanoseconds until = network_.now() + kRest;
    drive([&] { return network_.now() >= until; }, 10 * kMillisecond, true);
  }

  /// What the service does when it looks in.
  void tick() {
    const Counted counted(0);
    cores_[0]->step(network_.now());
    cores_[0]->progress(Watch::rare);
    cores_[0]->settle();
  }

  void print_lanes() const {
    std::size_t lanes = 0, peers = 0;
    for (const Peer* peer : teams_[0]->peers()) {
      const std::size_t up = peer == nullptr || peer->trunk == nullptr ? 0 : peer->trunk->lanes_up();
      lanes += up;
      peers += up != 0 ? 1 : 0;
    }
    std::printf("lanes %zu\npeers %zu\n", lanes, peers);
  }

 private:
  Team* make_team(std::size_t own) {
    std::vector<std::vector<std::byte>> addresses;
    for (const auto& core : cores_) addresses.push_back(encode_address(core->self()));
    const Counted counted(own);
    std::vector<Peer*> peers;
    Status why;
    for (std::size_t rank = 0; rank < cores_.size(); ++rank)
      peers.push_back(rank == own ? nullptr : cores_[own]->add_peer(addresses[rank], false, why));
    return cores_[own]->create_team("team", static_cast<int>(own), std::move(peers));
  }

  /// Lets time pass until `done`, for at most a minute of it.
  template <typename Done>
  bool drive(const Done& done, Nanoseconds step = kStep, bool settles = false) {
    for (const Nanoseconds limit = network_.now() + 60 * kSecond; network_.now() < limit;) {
      network_.pass(step);
      for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
        const Counted counted(rank);
        cores_[rank]->step(network_.now());
        cores_[rank]->progress(Watch::all);
        if (settles) cores_[rank]->settle();
      }
      if (done()) return true;
    }
    return false;
  }

  SimNetwork network_;
  std::vector<std::unique_ptr<SimPort>> ports_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<std::uint64_t> values_;
  std::vector<Team*> teams_;
};

int fail(const char* what) {
  std::fprintf(stderr, "work_of_ranks: %s\n", what);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  const std::size_t ranks = count > 1 ? std::strtoul(words[1], nullptr, 10) : 0;
  if (ranks < 2) return fail("usage: work_of_ranks RANKS [PARAMETER=VALUE]...");
  Config config;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return fail("a parameter is NAME=VALUE");
    const Status status = set_parameter(config, word.substr(0, equals), word.substr(equals + 1));
    if (!status.ok()) return fail(status.text().c_str());
  }
  if (config.window == 0) config.window = 16 * 1024;
  const std::size_t before = resident();
  Job job(ranks, config);
  if (!job.agree()) return fail("the team is never ready");
  CALLGRIND_DUMP_STATS_AT("start");
  for (int i = 0; i < kWarm; ++i)
    if (!job.call()) return fail("a sum is wrong, or never there");
  CALLGRIND_ZERO_STATS;
  if (!job.call()) return fail("a sum is wrong, or never there");
  CALLGRIND_DUMP_STATS_AT("call");
  job.rest();
  CALLGRIND_ZERO_STATS;
  job.tick();
  CALLGRIND_DUMP_STATS_AT("tick");
  job.print_lanes();
  std::printf("bytes %zu\n", (resident() - before) / ranks);
  return 0;
}
