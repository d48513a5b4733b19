// SPDX-License-Identifier: BSD-3-Clause
/// Allreduces one after the other, to some of which some ranks come late, every second one in place.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "kinds.h"
#include "ranks.h"

namespace nezha::test {

/// By all ranks of the team at the same time; each vector is the one of its rank. `right` gets the rank, the number of the call
/// and its result, in that rank's thread.
inline void call_late(Ranks& ranks, Team& team, const Kind& kind, std::size_t count, int calls,
                      const std::function<bool(int, int, const std::vector<std::byte>&)>& right) {
  ranks.run([&](int rank) {
    if (!team.has(rank)) return;
    std::mt19937 random(static_cast<unsigned>(rank));
    for (int call = 0; call < calls; ++call) {
      if (random() % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      const std::vector<std::byte> send = make_vector(kind, count, static_cast<std::size_t>(rank));
      std::vector<std::byte> recv(call % 2 == 0 ? send : std::vector<std::byte>(send.size()));
      const std::byte* from = call % 2 == 0 ? recv.data() : send.data();
      ASSERT_EQ(team.allreduce(rank, make_call(kind, count, from, recv.data())), NEZHA_OK);
      ASSERT_TRUE(right(rank, call, recv)) << "on rank " << rank << ", call " << call << " of " << count;
    }
  });
}

}  // namespace nezha::test
