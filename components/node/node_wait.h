// SPDX-License-Identifier: BSD-3-Clause
/// How a member waits for its neighbours: it looks again at once for a while, then lets others run, then sleeps until a
/// flag advances or a bound has passed (the caller has lanes to look at). One object for each waiting thread.
#pragma once

#include <sched.h>

#include "node/node_memory.h"
#include "util/clock.h"

namespace nezha {

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class NodeWait {
 public:
  /// `spare_cores`: every member has a core of its own, so that spinning takes nothing from a neighbour.
  NodeWait(NodeMemory& memory, bool spare_cores) : memory_(memory), spins_(spare_cores ? kSpins : 0) {}

  /// After a poll that has moved something.
  void moved() { idle_ = 0; }

  /// After a poll that has moved nothing. `poll` is called once more before a sleep; true if it moved something then.
  template <typename Poll>
  bool rest(Nanoseconds longest_sleep, Poll&& poll) {
    if (++idle_ <= spins_) {
      pause_briefly();
      return false;
    }
    if (idle_ <= spins_ + kYields) {
      sched_yield();
      return false;
    }
    memory_.announce_sleep();
    const bool moved = poll();
    if (!moved) memory_.sleep(longest_sleep);
    memory_.awake();
    if (moved) idle_ = 0;
    return moved;
  }

 private:
  static constexpr unsigned kSpins = 2000, kYields = 20;

  NodeMemory& memory_;
  const unsigned spins_;
  unsigned idle_ = 0;
};

}  // namespace nezha
