// SPDX-License-Identifier: BSD-3-Clause
/// Carriers of two kinds, chained by chunk: the members of two nodes over memory that they share, and operations
/// between the nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cluster.h"
#include "engine/operation_carrier.h"
#include "node_members.h"

namespace nezha::test {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::size_t kChunk = 4096, kSegment = 16 * 1024, kBytes = 50 * kSegment + 8;
constexpr std::array<std::uint32_t, 1> kFirst = {0};
const Rails kTwo{{1.0, 0.4}, ""};

/// A team shows them to be looked at; here carriers begin them, and nothing else does.
Operations& operations_of(Team& team) { return const_cast<Operations&>(team.operations()); }

Reducer sum() { return {find_kernel(NEZHA_INT64, NEZHA_SUM), nullptr, nullptr, nullptr, sizeof(std::int64_t)}; }

std::int64_t value(int node, std::uint32_t member, std::size_t i) {
  return static_cast<std::int64_t>((static_cast<std::size_t>(node) * 2 + member + 1) * (i + 3));
}

/// Two members, the first of which carries the node's sum to the other node.
class Node {
 public:
  Node(int number, Operations& operations) : number_(number), between_(operations, nullptr) {}

  void begin() {
    for (std::uint32_t member = 0; member < 2; ++member) {
      Ints& vector = vectors_[member];
      vector.resize(kBytes / sizeof(std::int64_t));
      for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = value(number_, member, i);
      stages_[member].begin(
          {.send = bytes(member), .recv = bytes(member), .bytes = kBytes, .reducer = sum(), .carriers = kFirst});
    }
    Call call;
    call.send = call.recv = bytes(0);
    call.count = kBytes / sizeof(std::int64_t);
    call.element = sizeof(std::int64_t);
    call.chunk = kChunk;
    call.reducer = sum();
    between_.begin(call, AlgorithmChoice::ring, {0, kBytes}, kSegment);
  }

  void poll() {
    poll_chain(stages_[0], between_);
    stages_[1].poll();
    const std::size_t reduced = stages_[0].reduced_up_to(), back = between_.final_up_to(),
                      shared = stages_[1].final_up_to();
    in_order_ = in_order_ && shared <= back && back <= reduced;
    second_began_early_ = second_began_early_ || (!between_.idle() && reduced < kBytes);
    third_began_early_ = third_began_early_ || (shared != 0 && back < kBytes);
  }

  bool over() { return between_.over() && stages_[0].over() && stages_[1].over(); }

  void check() const {
    EXPECT_TRUE(in_order_);
    EXPECT_TRUE(second_began_early_) << "all was reduced on the node before the first byte left it";
    EXPECT_TRUE(third_began_early_) << "all had come back before the first byte was shared";
    for (const Ints& vector : vectors_)
      for (std::size_t i = 0; i < vector.size(); ++i)
        ASSERT_EQ(vector[i], value(0, 0, i) + value(0, 1, i) + value(1, 0, i) + value(1, 1, i)) << i;
  }

 private:
  std::byte* bytes(std::uint32_t member) { return reinterpret_cast<std::byte*>(vectors_[member].data()); }

  const int number_;
  std::array<Ints, 2> vectors_;
  NodeGround ground_{2, kChunk};
  std::array<NodeMemory, 2> memories_{ground_.memory(0), ground_.memory(1)};
  std::array<NodeStage, 2> stages_{NodeStage(memories_[0], {}), NodeStage(memories_[1], {})};
  OperationCarrier between_;
  bool in_order_ = true, second_began_early_ = false, third_began_early_ = false;
};

TEST(Carriers, ANodeAndAnAlgorithmAreChainedByChunk) {
  Cluster cluster(2, kTwo, 3);
  Node first(0, operations_of(cluster.team(0))), second(1, operations_of(cluster.team(1)));
  for (int call = 0; call < 2; ++call) {
    first.begin();
    second.begin();
    EXPECT_TRUE(cluster.drive([&] {
      first.poll();
      second.poll();
      return first.over() && second.over();
    }));
    first.check();
    second.check();
  }
}

/// Segments begin as their input is ready, and what has come back counts in the order of the vector.
TEST(Carriers, AnAlgorithmTakesItsInputBySegment) {
  Cluster cluster(2, kTwo, 3);
  std::array<Ints, 2> vectors{Ints(3000, 1), Ints(3000, 2)};
  OperationCarrier first(operations_of(cluster.team(0)), nullptr), second(operations_of(cluster.team(1)), nullptr);
  const std::array<OperationCarrier*, 2> carriers{&first, &second};
  const auto goes_on_to = [&](std::size_t end) {
    return cluster.drive([&] {
      for (OperationCarrier* carrier : carriers) carrier->poll();
      return std::all_of(carriers.begin(), carriers.end(), [&](const OperationCarrier* carrier) {
        return carrier->final_up_to() == end && carrier->idle();
      });
    });
  };
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Call call;
    call.send = call.recv = reinterpret_cast<std::byte*>(vectors[rank].data());
    call.count = 3000;
    call.element = sizeof(std::int64_t);
    call.chunk = kChunk;
    call.reducer = sum();
    carriers[rank]->begin(call, AlgorithmChoice::halving, {8000, 20000}, 4000);
  }
  EXPECT_TRUE(goes_on_to(8000));
  for (OperationCarrier* carrier : carriers) carrier->supply(15999);
  EXPECT_TRUE(goes_on_to(12000));
  for (OperationCarrier* carrier : carriers) carrier->supply(20000);
  EXPECT_TRUE(goes_on_to(20000));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(carriers[rank]->over());
    for (std::size_t i = 0; i < 3000; ++i)
      ASSERT_EQ(vectors[rank][i], i < 1000 || i >= 2500 ? static_cast<std::int64_t>(rank + 1) : 3) << i;
  }
}

}  // namespace
}  // namespace nezha::test
