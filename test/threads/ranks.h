// SPDX-License-Identifier: BSD-3-Clause
/// N ranks in one process, driven through the C ABI: an engine each, connected over loopback, and teams of some or all
/// of them. What the host would do (exchange addresses, combine votes) is done in memory.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../unit/same_bytes.h"
#include "../unit/slowed_down.h"
#include "nezha/nezha.h"

namespace nezha::test {

/// Parameters and their values as text; one that is not in the list keeps its default, but learn,
/// which is 0: what learns leaves calls to the host.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Reduces for the host: `call_ctx` of an operation points to one of these.
using HostFold = void (*)(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count);
struct HostOperation {
  HostFold fold = nullptr;
  std::size_t alignment = 1;  ///< that the operation may count on
};

/// A call's vector that lies where the engine cannot use it: `call_ctx` of a call without vectors points to one. The sum
/// is in place.
struct Elsewhere {
  std::vector<std::int64_t> there, here;
  std::function<int()> bringing = [] { return NEZHA_OK; };
  int brought = 0, delivered = 0;
};

struct HelpText {
  std::string topic;
  std::vector<std::string> arguments;
};

/// The byte transfer layers of all hosts, in memory.
class Post {
 public:
  using Message = std::vector<std::byte>;
  void put(std::uint32_t rank, Message message);
  std::vector<Message> take(std::uint32_t rank);

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<Message>> messages_;
};

/// One engine and what its host was told. `ok()` is false when it found no rail; it then votes no.
class Rank {
 public:
  /// `post`: the host can send messages.
  Rank(int rank, const std::string& node, const Settings& settings, Post* post = nullptr);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  bool ok() const { return result_ == NEZHA_OK; }
  int result() const { return result_; }
  const std::string& why() const { return why_; }
  nezha_engine_t* engine() const { return engine_; }
  /// Destroys the engine before the rest.
  void destroy();
  std::vector<std::byte> address() const;
  std::vector<nezha_rail_stats_t> rails() const;
  std::uint64_t calls() const;
  nezha_memory_stats_t memory() const;

  std::vector<HelpText> helps() const;
  std::vector<std::string> lines() const;
  std::uint64_t progress_calls() const;
  /// What the host's progress does from here on, on the thread that calls it.
  void on_progress(std::function<void()> what);
  /// The host progresses without the engine's asking for it; the engine does too if its rails need that.
  void poll();

 private:
  static void log(void* ctx, int level, const char* line);
  static void help(void* ctx, const char* topic, int count, const char* const* arguments);
  static int progress(void* ctx);
  static int send(void* ctx, unsigned module, std::uint32_t job_rank, const void* head, std::size_t head_size,
                  const void* body, std::size_t body_size);
  static void reduce(void* ctx, void* operation, const void* in, void* inout, std::size_t first, std::size_t count);
  static int bring(void* ctx, void* elsewhere, const void** send, void** recv);
  static int deliver(void* ctx, void* elsewhere);

  const std::uint32_t rank_;
  Post* const post_;
  int result_ = NEZHA_ERR_INTERNAL;
  std::string why_;
  nezha_engine_t* engine_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<HelpText> helps_;
  std::vector<std::string> lines_;
  std::uint64_t progress_calls_ = 0;
  std::function<void()> on_progress_;
};

/// Ranks that know one another's addresses.
class Ranks {
 public:
  /// `nodes` names each rank's node; empty: one node for all.
  Ranks(int size, const std::function<Settings(int)>& settings_of, std::vector<std::string> nodes = {},
        Post* post = nullptr);
  /// With the same settings for everybody.
  Ranks(int size, const Settings& settings, std::vector<std::string> nodes = {}, Post* post = nullptr)
      : Ranks(size, [&](int) { return settings; }, std::move(nodes), post) {}

  int size() const { return static_cast<int>(ranks_.size()); }
  Rank& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  nezha_peer_t* peer(int from, int to) const;
  /// Calls body(rank) for every rank, each in a thread of its own, and waits for all.
  void run(const std::function<void(int)>& body) const;
  /// Ranks by position in the ring: those of one node are neighbours.
  std::vector<int> ring_order(const std::vector<int>& members) const;

 private:
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::string> nodes_;
  std::vector<std::vector<nezha_peer_t*>> peers_;
};

/// Combines words of all members by OR; each calls it from its own thread, and gets the same answer.
class OrAllreduce {
 public:
  using Words = std::array<std::uint64_t, NEZHA_VOTE_WORDS>;
  explicit OrAllreduce(int members) : members_(members) {}
  void combine(Words& words);

 private:
  const int members_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  Words sum_{}, result_{};
};

/// A team of some ranks. Each member creates, uses and destroys its own part, from a thread of its own.
class Team {
 public:
  Team(Ranks& ranks, std::string name, std::vector<int> members);
  Team(Ranks& ranks, std::string name);  ///< of all ranks
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  const std::vector<int>& members() const { return members_; }
  int size() const { return static_cast<int>(members_.size()); }
  bool has(int rank) const;
  nezha_team_t* handle(int rank) { return handles_[index_of(rank)]; }

  void create(int rank);
  /// Collective: agrees, at each time that the engine calls due, until the team is ready or declined. A member that has
  /// not created its part votes no.
  nezha_team_state_t agree(int rank);
  /// Collective: what comes before the first call, as the host does it. Each member has created its part.
  nezha_team_state_t agree_before_first_call(int rank);
  void destroy(int rank);
  /// See nezha_team_spec_t; to be set before create().
  bool within_node = false;
  /// Of the call before which its members agree.
  std::size_t foreseen = 1024 * 1024;
  /// Called by each member between the exchange of votes and its decision: others may be ready long before it.
  std::function<void(int rank)> before_deciding;
  std::function<void(int rank)> after_deciding;  ///< at once
  int allreduce(int rank, const nezha_call_t& call) { return nezha_carry(handle(rank), &call); }

  /// Creates and agrees for all members, in threads; true when all are ready.
  bool start();

 private:
  std::size_t index_of(int rank) const;
  nezha_team_state_t vote(int rank);

  Ranks& ranks_;
  const std::string name_;
  const std::vector<int> members_;
  std::vector<nezha_team_t*> handles_;
  OrAllreduce votes_;
};

}  // namespace nezha::test
