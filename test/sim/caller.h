// SPDX-License-Identifier: BSD-3-Clause
/// One thread of a simulated process: goes through its calls, and checks each result and what happens to its memory. Of
/// those that do not block many are under way at once.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "engine/aggregation/star.h"
#include "engine/hierarchy.h"
#include "results.h"
#include "tuning/candidate.h"
#include "util/clock.h"

namespace nezha {
class Team;
}

namespace nezha::test {

class Process;
class World;

/// In memory that no call may read, or whose content no call may leave.
constexpr std::byte kScribble{0xa5};

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
  enum class State { thinking, voting, agreeing, joining, asking, operating, aggregating, small, confirming, sharing, incumbent, draining, done };
  struct Vectors {
    Bytes send, recv, given;  ///< `given`: what send was, unless in place
  };
  /// An operation, or what goes by way of the node's memory.
  struct Started {
    bool shared = false;
    Hierarchy::Ticket ticket;
  };
  /// A call that does not block, under way.
  struct Pending {
    std::size_t at;
    Started started;
    Carried way;
    Nanoseconds began;
    Vectors vectors;
  };
  /// Memory that was the caller's again at the end of a call: nobody may write there any more.
  struct Returned {
    Bytes memory, then;
  };

  const CallSpec& call() const;
  void next_call();
  void think(Nanoseconds time);
  void vote();
  bool start();
  void agree();
  Call call_by(const Candidate& way);
  void begin_operation(const Candidate& way);
  void begin_barrier();
  void start_flat(const Call& what, AlgorithmChoice algorithm);
  void start_shared(const Call& what, AlgorithmChoice algorithm);
  static bool over(Team& team, const Started& started);
  bool goes_shared() const;
  bool has_room() const;
  bool through_stars(const Candidate& way);
  void join_stars(const Candidate& way);
  void begin_stars(const Candidate& way);
  bool stars_settled();
  bool may_go_small() const;
  nezha_call_t allreduce_call() const;
  nezha_type_t type_here() const;
  bool asks_for_small();
  Star* star_for_small();
  void begin_small(Star& star);
  void confirm();
  void confirmed();
  void carry_lost();
  bool poll_pending();
  void end_pending(Pending& pending);
  bool has_pending(std::size_t team) const;
  int rank_in(const CallSpec& call) const;
  void prepare_vectors();
  Candidate way_of_call();
  const CallSpec& call_of(const Pending& pending) const;
  void end_call(std::size_t at, const Carried& way, Vectors& vectors);
  void go_on();
  void leave_to_incumbent();
  void finish();
  void operation_over();
  void fail_call();
  void leave_memory(Vectors& vectors);
  void check(const Bytes& got, const Bytes& wanted, const char* what);
  void check(const Returned& old);
  void keep_watch(Bytes memory);

  World& world_;
  Process& process_;
  const int thread_;
  State state_ = State::thinking;
  std::size_t at_ = 0;     ///< of the program's calls
  Nanoseconds until_ = 0;  ///< end of the time of thinking, or of the incumbent's
  Nanoseconds began_ = 0;
  Vectors vectors_;
  Started started_;            ///< what is waited for; number 0: nothing
  std::uint64_t nothing_ = 0;  ///< the vector of a barrier by way of memory
  Candidate way_;        ///< of a call of which a part goes through aggregators, and what it is
  Call what_;
  bool divided_ = false;  ///< the ranks agree on how much of such calls goes through aggregators
  bool chose_ = false;  ///< its way over the rails or whole through an aggregator
  bool votes_ = false;           ///< that call begins with an agreement
  std::vector<Unsummed> lost_;   ///< what the rails have to carry of that instead
  Carried how_;                      ///< the call is carried
  std::vector<Pending> pending_;
  std::deque<Returned> watched_;
  std::set<std::size_t> failed_;  ///< teams that failed here
};

}  // namespace nezha::test
