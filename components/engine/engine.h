// SPDX-License-Identifier: BSD-3-Clause
/// A core under one lock, driven by real threads: callers drive while they wait, one at a time; a service thread wires
/// lanes and keeps acks flowing while nobody is in a call; and, where cores are spare, each rail has a worker.
///
/// The service thread never calls the host: it looks at lanes only while no caller waits for an operation, and goes on
/// with those that nobody waits for; where one of them may have to be reduced by the host, it makes connections alone. The
/// same where the caller that drives stays away in the host's progress, in which code of the host's and of the application
/// runs.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>

#include "engine/affinity.h"
#include "engine/core.h"
#include "engine/requests.h"
#include "engine/host_btl.h"
#include "engine/service_tasks.h"
#include "engine/sharp_way.h"
#include "engine/trace.h"
#include "engine/workers.h"
#include "nezha/nezha.h"

namespace nezha {

class SystemClock final : public Clock {
 public:
  Nanoseconds now() const override;
};

class Engine {
 public:
  Engine(const Config& config, const nezha_host_t& host, const nezha_self_t& self);
  ~Engine();

  /// Finds the rails. Not ok: there are none; the engine is still good for voting no. Where descriptors would suffice
  /// for no team it has no rails either, of which each create_team() tells.
  Status open();
  const std::vector<std::byte>& address() const { return address_; }

  Peer* add_peer(std::span<const std::byte> address, bool same_node, Status& why);
  /// Null where descriptors do not suffice, of which a text tells.
  Team* create_team(const nezha_team_spec_t& spec);
  void destroy_team(Team& team);
  bool agreement_due(Team& team, std::size_t bytes);
  void vote(Team& team, std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words);
  nezha_team_state_t decide(Team& team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words);
  bool votes_again(const Team& team);
  bool shares_memory(const Team& team);
  int collective(Team& team, const nezha_call_t& call);
  int start(Team& team, nezha_call_t call, Request*& request);
  void give_back(Request& request);
  bool progress();
  void incumbent_done(Team& team, Collective collective);
  std::string error_of(const Team& team);
  void give_up(Team& team, const char* why);
  void ending(bool fence);
  void part();
  void message(std::span<const nezha_bytes_t> pieces);
  bool host_carries() const { return host_carries_; }
  /// NICs are to read vectors from where they lie.
  bool lends() const;

  std::size_t rails();
  bool rail_stats(std::size_t index, nezha_rail_stats_t& stats);
  bool rail_nic(std::size_t index, nezha_rail_nic_t& nic);
  void class_stats(nezha_class_stats_t* stats);
  void totals(std::uint64_t& calls, std::uint64_t& bytes);
  nezha_memory_stats_t memory_stats();

  /// In a forked child: threads and lanes belong to the parent, nothing may be touched any more.
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  static constexpr Nanoseconds kPatience = 2 * kMillisecond;  ///< idle time after which acks are sent on their own
  static constexpr Nanoseconds kAway = 10 * kMillisecond;     ///< of a driver in the host's progress, until others act for it
  using Lock = std::unique_lock<std::mutex>;
  /// The lock is free in its scope, and held again behind it, also when an exception leaves it.
  class Unlocked {
   public:
    explicit Unlocked(Lock& lock) : lock_(lock) { lock_.unlock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    ~Unlocked() { lock_.lock(); }

   private:
    Lock& lock_;
  };

  /// A caller that drives for all.
  struct Driver {
    const std::thread::id thread = std::this_thread::get_id();
    Nanoseconds away_since = 0;  ///< in the host's progress; 0: it is not there
  };

  int carry(Lock& lock, Team& team, nezha_call_t call);
  int carry_barrier(Lock& lock, Team& team, const nezha_call_t& call);
  static Candidate barrier_way(const Team& team);
  int leave(Lock& lock, Team& team, Collective collective, std::size_t bytes);
  Call call_of(const Team& team, const nezha_call_t& what, const Candidate& way, bool shares) const;
  /// In a handler of an exception: the team fails, on all ranks.
  void break_off(Team& team);
  void stay_awake();
  void operate(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice);
  bool through_stars(Lock& lock, Team& team, const nezha_call_t& what, const Candidate& way);
  std::size_t operate_stars(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice);
  Star* through_small(Lock& lock, Team& team, const nezha_call_t& what);
  int carry_small(Lock& lock, Team& team, nezha_call_t what, Star& star);
  /// Its vectors are not where the engine could use them.
  static bool is_elsewhere(const nezha_call_t& what) {
    return what.send == nullptr && what.recv == nullptr && what.collective != NEZHA_BARRIER;
  }
  bool bring(Lock& lock, nezha_call_t& what) const;
  bool deliver(Lock& lock, const nezha_call_t& what) const;
  void operate_beside(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice,
                      const std::function<bool(bool carried)>& settled);
  bool through_sharp(Lock& lock, Team& team, const nezha_call_t& what);
  std::size_t operate_sharp(Lock& lock, Team& team, const nezha_call_t& what, const Call& call, AlgorithmChoice choice);
  void carry_without_sharp(Lock& lock, Team& team, const Call& part, AlgorithmChoice choice, const Status& trouble);
  void open_sharp(Lock& lock, Team& team, SharpWay& sharp);
  void combine_for_sharp(Lock& lock, Team& team, std::span<std::byte> bytes);
  SharpWay* sharp_of(const Team& team);
  std::size_t operate_shared(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice);
  void look_at_node(Lock& lock, Hierarchy& hierarchy, const Hierarchy::Ticket& ticket);
  template <typename Body>
  void operated(Team& team, const Call& call, const Body& body);
  void agree(Lock& lock, Team& team, const nezha_call_t& what);
  void agree_on_share(Lock& lock, Team& team, const Call& call, Nanoseconds took);
  void await_room(Lock& lock, Team& team);
  /// `over` goes on with what is waited for, and says when that has come.
  template <typename Over>
  void wait(Lock& lock, const Over& over);
  template <typename Over>
  bool drive(Lock& lock, const Over& over, Driver& driver);
  bool may_take_over(const Driver& driver) const;
  void let_host_progress(Lock& lock, Driver& driver, Nanoseconds now);
  bool calls_host() const { return calling_host_ != 0 || requests_.call_host(); }
  bool unattended(Nanoseconds now) const;
  bool look(Nanoseconds now);
  bool look_everywhere();
  NodeMemory* only_node() const;
  void look_with_host(Lock& lock);
  void keep_watch(bool moved);
  bool go_on(Nanoseconds now);
  bool advance_requests();
  void overlap();
  void stand_in();
  void go_on_for_a_while();
  void go_on_without_host(Nanoseconds since, Nanoseconds now);
  bool callers_look(Nanoseconds now) const;
  Lock enter();
  void let_others_in(Lock& lock);
  void rest(Lock& lock, Nanoseconds longest);
  void see_peers_off();
  void rest_on(Lock& lock, NodeMemory& memory, Nanoseconds longest);
  void await_awake(Lock& lock, const Team& team);
  void count(std::size_t bytes, Nanoseconds took, std::size_t aggregated = 0);
  void count_shared(std::size_t bytes, Nanoseconds took);
  nezha_memory_stats_t memory_so_far() const;
  void open_trace(Notices& notices);
  void write_trace(Lock& lock);
  std::size_t descriptors_to_come() const;
  bool too_few_descriptors() const;
  /// What is to be said when that team cannot be had; empty: they suffice.
  Notices descriptors_lacking(const Team& team);
  void await_wiring(Lock& lock, const Team& team);
  void show_notices(Lock& lock);
  void help(const Notices& notices) const;

  void start_service();
  void serve();
  void serve_until_stop();
  [[noreturn]] void no_memory() const;
  bool nap(Lock& lock, bool ticking);
  void wake_service();

  const nezha_host_t host_;
  const std::uint32_t job_ranks_;
  const std::uint32_t local_ranks_;
  const bool crowded_;  ///< the job has more ranks on this node than processors that they may use
  const SystemClock clock_;
  HostBtl host_btl_;
  bool host_carries_ = false;  ///< there are rails that move only in the host's threads; as open() has found
  std::mutex mutex_;
  std::atomic<unsigned> entering_ = 0;  ///< callers on their way to mutex_, to begin an operation
  // Guarded by mutex_:
  Workers workers_;         ///< outlive the core's lanes
  ServiceTasks tasks_;  ///< outlive the core's transports
  Core core_;
  Requests requests_;
  std::unordered_map<const Team*, std::unique_ptr<SharpWay>> sharps_;  ///< of teams that may use SHARP
  unsigned polled_ways_ = 0;  ///< callers that wait for SHARP, which wakes nobody
  unsigned operations_ = 0;  ///< that callers wait for
  unsigned shared_operations_ = 0;  ///< of these, by way of shared memory
  unsigned node_operations_ = 0;    ///< of these, of teams within a node
  unsigned calling_host_ = 0;       ///< of these, to be reduced by the host
  unsigned waiting_ = 0;     ///< callers that wait for the one that drives
  unsigned leaving_ = 0;     ///< threads that wait until nobody sleeps on a team's memory
  Driver* driver_ = nullptr;
  Nanoseconds host_looked_ = 0;   ///< when a caller last let the host progress
  Nanoseconds lanes_looked_ = 0;  ///< when a caller that waits last looked at lanes
  Nanoseconds polled_ = 0;       ///< when a caller last looked after requests
  Nanoseconds begun_ = 0;        ///< when the latest request was begun
  Nanoseconds moved_ = 0;        ///< when a look last brought requests on
  Nanoseconds settled_ = 0;      ///< when it did, or acks were last sent on their own
  unsigned node_spins_ = 100;    ///< of look_at_node()
  Nanoseconds napped_ = 0;       ///< when a caller that looks after requests last slept
  unsigned vain_naps_ = 0;       ///< of the service thread in a row, while there are requests, that it found nothing after
  Nanoseconds shown_ = 0;        ///< when peers were last given a sign of life
  Nanoseconds overlapped_ = 0;   ///< when the service thread last saw that there are requests
  bool asleep_ = false;          ///< the service thread, for longer than requests can wait
  bool ticking_ = false;         ///< the service thread looks in every few milliseconds
  bool watching_ = false;        ///< it sleeps until payload comes, for one: Transport::arm_payload_wakeup()
  unsigned called_ = 0;          ///< operations that ended since its last look
  bool callers_drive_ = false;   ///< so many that it had nothing to do
  bool stop_ = false;
  bool fence_follows_ = false;  ///< see nezha_engine_ending
  std::array<nezha_class_stats_t, NEZHA_SIZE_CLASSES> classes_{};
  std::uint64_t calls_ = 0;
  std::uint64_t bytes_ = 0;
  nezha_memory_stats_t shared_{};  ///< calls, bytes and time; the core knows the rest
  std::unique_ptr<Trace> trace_;  ///< null: nothing is written down

  std::mutex trace_writing_;      ///< held while lines are taken and written; before mutex_
  std::condition_variable turn_;  ///< an operation ended, the drive is free, or nobody sleeps on some memory any more
  std::vector<std::byte> address_;
  int wake_fd_ = -1;
  bool without_descriptors_ = false;  ///< opened none, since there are too few for any team
  const Affinity affinity_;  ///< of the thread that made the engine: who makes the first team may be bound to one core
  std::thread service_;
  std::atomic<bool> abandoned_ = false;
};

}  // namespace nezha
