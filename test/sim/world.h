// SPDX-License-Identifier: BSD-3-Clause
/// One simulated world: processes on a network, a program that they run, faults that happen; and what must hold.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "faults.h"
#include "observer.h"
#include "process.h"
#include "rail/sim/network.h"
#include "results.h"
#include "service.h"
#include "setting.h"
#include "storms.h"

namespace nezha::test {

struct Tally {
  std::uint64_t worlds = 0, calls = 0, operations = 0;  ///< an operation is a call on one rank
  std::uint64_t frames = 0, bytes = 0, replays = 0, lanes_lost = 0, suspicions = 0, faults = 0;
  std::uint64_t aggregated = 0;  ///< operations of aggregation services
  std::uint64_t shared = 0;      ///< operations by way of the nodes' memory
  std::uint64_t declined = 0, deaths = 0, failed = 0;  ///< teams, processes, calls on one rank that returned an error
  Nanoseconds time = 0;
};

/// Which world, and how much of it: the same again gives the same again.
struct Scope {
  std::uint64_t seed = 1;
  std::size_t calls = 30;
  std::size_t faults = std::numeric_limits<std::size_t>::max();  ///< later ones do not happen
  bool service = false;                                          ///< there are aggregation services
  bool nodes = false;                                            ///< ranks of a node share memory, whatever the seed says
  bool rdma = false;                                             ///< some networks are for RDMA, likewise
};

class World {
 public:
  /// A random one.
  World(const Scope& scope, bool talks);
  /// A made one. `most` random faults happen at most.
  World(Setting setting, std::optional<Program> program, std::size_t most, bool talks);
  ~World();

  /// Runs it to its end. Empty: all is well; else what is not.
  std::string run(Tally& tally);
  std::uint64_t fingerprint() const { return network_.fingerprint(); }
  std::size_t faults_happened() const { return storms_.happened(); }

  // ---- for processes and callers
  Setting& setting() { return setting_; }
  const Program& program() const { return program_; }
  SimNetwork& network() { return network_; }
  SimQueueFabric& queues() { return queues_; }
  Faults& faults() { return faults_; }
  const Sharing& sharing() const { return setting_.sharing; }
  Observer& observer() { return observer_; }
  std::vector<SimPort*> ports(int rank);
  /// Null: it has none.
  SimPort* loopback(int rank) const { return loopbacks_[static_cast<std::size_t>(rank)].get(); }
  /// Null: there is none.
  const std::vector<std::unique_ptr<Service>>& services() const { return services_; }
  Process& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }
  const Process& process(int rank) const { return *processes_[static_cast<std::size_t>(rank)]; }
  Log log(int rank);
  void fail(const std::string& why);
  /// A line for who wants to see what happens.
  void talk(const std::string& line) const;
  void collect_vote(std::size_t team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, Caller& caller);
  void decline(std::size_t team);
  bool declined(std::size_t team) const { return declined_.count(team) != 0; }
  const Bytes& expected(std::size_t call, const Carried& way);
  void call_begun(std::size_t call);
  void call_done(std::size_t call, const Carried& way);
  /// It has returned an error.
  void call_failed(std::size_t call, const std::string& error, Nanoseconds began);
  void caller_done() { --callers_left_; }
  void kill(int rank);
  /// It stands still for good.
  void stop(int rank);
  /// Something has moved in that rank's process, perhaps a flag that ranks of its node wait for.
  void wake_mates(int rank);
  bool somebody_died() const { return died_ != 0; }

  // ---- for tests
  /// Called when the first rank begins a call.
  std::function<void(std::size_t call)> on_call;
  struct Times {
    Nanoseconds began = 0, ended = 0;  ///< on the first rank, on the last; 0 = not yet
  };
  const std::vector<Times>& times() const { return times_; }
  /// All calls are done: no more faults.
  bool over() const { return callers_left_ == 0; }

 private:
  struct Ballot {
    std::vector<std::uint64_t> words;
    std::vector<Caller*> callers;
  };
  struct Result {
    Carried way;
    Bytes bytes;
    std::size_t done = 0;  ///< ranks
  };
  struct LogContext {
    World* world;
    int rank;
  };

  void begin_late_ports();
  bool has_dead(std::size_t team) const;
  bool names_dead(const std::string& error) const;
  std::vector<std::vector<int>> by_node(std::size_t team) const;
  std::vector<std::vector<int>> in_carrying_order(std::size_t team) const;
  void lost(int rank);
  void call_off_dead();
  void call_off(std::size_t team);
  void run_program();
  void run_until_quiet();
  void check_silence();
  std::uint64_t frames_sent() const;
  std::string stuck() const;
  void count(Tally& tally) const;
  static void write_line(void* context, int level, const char* line);

  Setting setting_;
  SimNetwork network_;
  SimQueueFabric queues_;
  Faults faults_;
  Storms storms_;
  Observer observer_;
  const Program program_;
  const bool talks_;
  std::vector<std::vector<std::unique_ptr<SimPort>>> ports_;
  std::vector<std::unique_ptr<SimPort>> loopbacks_;  ///< by rank
  std::vector<LogContext> log_contexts_;
  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Times> times_;
  std::map<std::size_t, Ballot> ballots_;
  std::map<std::size_t, Result> results_;
  std::set<std::size_t> declined_;
  std::uint64_t operations_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t shared_ = 0;
  std::uint64_t lanes_lost_ = 0;
  std::uint64_t failed_ = 0;
  std::size_t callers_left_ = 0;
  std::size_t deaths_ = 0;
  Nanoseconds died_ = 0;  ///< when the first did
  Nanoseconds last_done_ = 0;
  std::string failure_;
};

}  // namespace nezha::test
