// SPDX-License-Identifier: BSD-3-Clause
/// One thread of a simulated process: goes through its calls, and checks each result and what happens to its memory.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "program.h"
#include "util/clock.h"

namespace nezha::test {

class Process;
class World;

class Caller {
 public:
  Caller(World& world, Process& process, int thread);

  /// Goes on as far as it can now. True when anything happened.
  bool advance();
  bool done() const { return state_ == State::done; }
  /// What it is waiting for, for texts.
  std::string text() const;
  /// Every member of the team has voted; this is what came of it.
  void decide(const std::vector<std::uint64_t>& words);
  /// There will be no vote: a member is dead.
  void give_up_team();
  /// Memory of calls that are over is as it was left.
  void check_watched();

 private:
  enum class State { thinking, voting, agreeing, operating, incumbent, done };
  /// Memory that was the caller's again at the end of a call: nobody may write there any more.
  struct Returned {
    Bytes memory, then;
  };

  const CallSpec& call() const;
  void next_call();
  void think(Nanoseconds time);
  void vote();
  void start();
  void agree();
  void leave_to_incumbent();
  void finish();
  void operation_over();
  void fail_call();
  void leave_memory();
  void check(const Bytes& got, const Bytes& wanted, const char* what);
  void keep_watch(Bytes memory);

  World& world_;
  Process& process_;
  const int thread_;
  State state_ = State::thinking;
  std::size_t at_ = 0;          ///< of the program's calls
  Nanoseconds until_ = 0;       ///< end of the time of thinking, or of the incumbent's
  Nanoseconds began_ = 0;
  Bytes send_, recv_, given_;   ///< `given_`: what send_ was, unless in place
  AlgorithmChoice algorithm_ = AlgorithmChoice::automatic;
  std::vector<Returned> watched_;
  std::set<std::size_t> failed_;  ///< teams that failed here
};

}  // namespace nezha::test
