// SPDX-License-Identifier: BSD-3-Clause
/// Barriers of a team of all ranks, and whether they are any.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "ranks.h"

namespace nezha::test {

/// Each time nobody leaves before all have come, some of them late.
inline void meet(Ranks& ranks, Team& team, int times) {
  std::atomic<int> came = 0;
  ranks.run([&](int rank) {
    std::mt19937 random(static_cast<unsigned>(rank));
    nezha_call_t barrier{};
    barrier.collective = NEZHA_BARRIER;
    barrier.count = barrier.element = 1;
    for (int call = 1; call <= times; ++call) {
      if (random() % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      ++came;
      ASSERT_EQ(team.allreduce(rank, barrier), NEZHA_OK);
      ASSERT_GE(came.load(), call * team.size()) << "rank " << rank;
    }
  });
}

}  // namespace nezha::test
