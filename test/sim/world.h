// SPDX-License-Identifier: BSD-3-Clause
/// One simulated world: processes on a network, a program that they run, faults that happen; and what must hold.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "faults.h"
#include "observer.h"
#include "process.h"
#include "program.h"
#include "rail/sim/network.h"
#include "setting.h"

namespace nezha::test {

struct Tally {
  std::uint64_t worlds = 0, calls = 0, operations = 0;  ///< an operation is a call on one rank
  std::uint64_t frames = 0, bytes = 0, replays = 0, lanes_lost = 0, declined = 0;
  Nanoseconds time = 0;
};

/// Which world, and how much of it: the same again gives the same again.
struct Scope {
  std::uint64_t seed = 1;
  std::size_t calls = 30;
  std::size_t faults = std::numeric_limits<std::size_t>::max();  ///< later ones do not happen
};

class World {
 public:
  World(const Scope& scope, bool talks);
  ~World();

  /// Runs it to its end. Empty: all is well; else what is not.
  std::string run(Tally& tally);
  std::uint64_t fingerprint() const { return network_.fingerprint(); }
  std::size_t faults() const { return faults_.happened(); }

  // ---- for processes and callers
  Setting& setting() { return setting_; }
  const Program& program() const { return program_; }
  SimNetwork& network() { return network_; }
  std::vector<SimPort*> ports(int rank);
  Process& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }
  Log log(int rank);
  void fail(const std::string& why);
  /// A line for who wants to see what happens.
  void talk(const std::string& line) const;
  void collect_vote(std::size_t team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, Caller& caller);
  void decline(std::size_t team) { declined_.insert(team); }
  bool declined(std::size_t team) const { return declined_.count(team) != 0; }
  const Bytes& expected(std::size_t call, AlgorithmChoice algorithm);
  void call_done(std::size_t call, AlgorithmChoice algorithm);

 private:
  struct Ballot {
    std::vector<std::uint64_t> words;
    std::vector<Caller*> callers;
  };
  struct Result {
    AlgorithmChoice algorithm;
    Bytes bytes;
    std::size_t done = 0;  ///< ranks
  };
  struct LogContext {
    World* world;
    int rank;
  };

  bool all_done() const;
  void run_program();
  void run_until_quiet();
  void check_silence();
  std::uint64_t frames_sent() const;
  std::string stuck() const;
  void count(Tally& tally) const;
  static void write_line(void* context, int level, const char* line);

  Setting setting_;
  SimNetwork network_;
  Faults faults_;
  Observer observer_;
  const Program program_;
  const bool talks_;
  std::vector<std::vector<std::unique_ptr<SimPort>>> ports_;
  std::vector<LogContext> log_contexts_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::size_t, Ballot> ballots_;
  std::map<std::size_t, Result> results_;
  std::set<std::size_t> declined_;
  std::uint64_t operations_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t lanes_lost_ = 0;
  Nanoseconds last_done_ = 0;
  std::string failure_;
};

}  // namespace nezha::test
