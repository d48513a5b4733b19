// SPDX-License-Identifier: BSD-3-Clause
/// Calls by way of the nodes' shared memory, on layouts of all sorts, one node included.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ranks.h"

namespace nezha::test {

struct Ground {
  const char* name;
  std::vector<std::string> nodes;  ///< by rank
  bool within_node = false;
};

inline std::string name_of(const testing::TestParamInfo<Ground>& info) { return info.param.name; }

/// `Each` has call(rank), one of a collective on that rank.
class HierarchyCase : public testing::TestWithParam<Ground> {
 protected:
  HierarchyCase() : ranks_(static_cast<int>(GetParam().nodes.size()), {{"single_node", "2"}}, nodes()), team_(ranks_, "everybody") {
    team_.within_node = GetParam().within_node;
  }
  int size() const { return static_cast<int>(GetParam().nodes.size()); }
  static std::vector<std::string> nodes() { return GetParam().within_node ? std::vector<std::string>() : GetParam().nodes; }

  template <typename Each>
  void carry(int rank, Each& each) {
    const nezha_call_t call = each.call(rank);
    ASSERT_EQ(nezha_carry(team_.handle(rank), &call), NEZHA_OK);
  }
  template <typename Each>
  nezha_request_t* start(int rank, Each& each) {
    const nezha_call_t call = each.call(rank);
    nezha_request_t* request = nullptr;
    EXPECT_EQ(nezha_start(team_.handle(rank), &call, &request), NEZHA_OK);
    return request;
  }
  void await(int rank, const std::vector<nezha_request_t*>& requests) {
    for (nezha_request_t* request : requests) {
      while (nezha_request_state(request) == NEZHA_PENDING) nezha_engine_progress(ranks_.at(rank).engine());
      EXPECT_EQ(nezha_request_state(request), NEZHA_OK);
      nezha_request_free(request);
    }
  }
  /// On all ranks, one after the other, to which some come late.
  template <typename Each>
  void carry_late(std::vector<Each>& calls) {
    ranks_.run([&](int rank) {
      std::mt19937 late(static_cast<unsigned>(rank));
      for (Each& each : calls) {
        if (late() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(late() % 1000));
        carry(rank, each);
        if (HasFatalFailure()) return;
      }
    });
  }
  void counted(std::uint64_t by_memory, std::uint64_t by_rails) {
    for (int rank = 0; rank < size(); ++rank) {
      EXPECT_EQ(ranks_.at(rank).memory().calls, by_memory);
      EXPECT_EQ(ranks_.at(rank).calls(), GetParam().within_node ? 0 : by_rails) << "that rails carried";
    }
  }

  Ranks ranks_;
  Team team_;
};

}  // namespace nezha::test
