// SPDX-License-Identifier: BSD-3-Clause
/// The calls of a process that do not block, in the order in which they came. Guarded by the engine's lock; waiting()
/// may be asked without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/core.h"
#include "engine/request.h"

namespace nezha {

class Requests {
 public:
  Requests(Engine& engine, Core& core) : engine_(engine), core_(core) {}

  /// A fresh one, to be filled in, then begun. What was returned is used again.
  Request& take();
  /// Begins it, or leaves that to advance() where earlier ones of its team have to begin or to end first.
  void begin(Request& request);
  /// It is over, and nobody looks at it any more.
  void give_back(Request& request) { idle_.push_back(&request); }

  /// Begins those that have room now, and ends those that are over; `ended(request)` is called for each before its
  /// state says so. True when there were any. An exception fails the request's team; only std::bad_alloc is passed on.
  template <typename Ended>
  bool advance(const Ended& ended) {
    bool any = false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      Request& request = *pending_[i];
      if (go_on(request, any)) {
        ended(request);
        finish(request);
        any = true;
      } else {
        pending_[kept++] = pending_[i];
      }
    }
    pending_.resize(kept);
    pending_count_.store(kept, std::memory_order_release);
    return any;
  }

  /// How many are not over.
  std::size_t waiting() const { return pending_count_.load(std::memory_order_acquire); }
  /// There are operations of the team over lanes that are to begin before any other of it.
  bool queued(const Team& team) const { return queued(team, false); }
  /// All go by way of the nodes' shared memory.
  bool all_shared() const;
  /// Any that is under way may call the host.
  bool call_host() const;
  /// The team is about to go: its requests end with an error.
  void forget(const Team& team);

 private:
  bool queued(const Team& team, bool shared) const;
  static bool has_room(const Request& request);
  bool start(Request& request);
  static bool over(Request& request);
  bool go_on(Request& request, bool& begun);
  static void finish(Request& request);

  Engine& engine_;
  Core& core_;
  std::vector<Request*> pending_;
  std::atomic<std::size_t> pending_count_ = 0;
  std::vector<std::unique_ptr<Request>> all_;
  std::vector<Request*> idle_;  ///< has room for all
};

}  // namespace nezha
