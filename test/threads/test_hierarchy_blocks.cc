// SPDX-License-Identifier: BSD-3-Clause
/// Reduce_scatters and allgathers by way of the nodes' shared memory: in place and not, among allreduces, on layouts of all sorts, one
/// node included; and those that go another way, since their blocks or nodes are uneven.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "hierarchy_case.h"
#include "kinds.h"

namespace nezha::test {
namespace {

const Settings kSettings{{"single_node", "2"}};

/// One call on all ranks of a team, and what is to come of it. `counts`: elements of the blocks.
class Blocks {
 public:
  Blocks(const Team& team, nezha_collective_t collective, const Kind& kind, std::vector<std::size_t> counts, bool in_place, std::uint64_t seed)
      : collective_(collective), kind_(&kind), counts_(std::move(counts)), in_place_(in_place) {
    count_ = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
    for (const int rank : team.members()) inputs_.push_back(make_vector(kind, count_, seed * 64 + static_cast<std::uint64_t>(rank)));
    vectors_ = inputs_;
    if (collective == NEZHA_ALLGATHER) keep_own_blocks();
    for (std::size_t rank = 0; rank < counts_.size(); ++rank)
      results_.emplace_back(collective == NEZHA_REDUCE_SCATTER ? counts_[rank] * kind.element : inputs_[rank].size());
  }

  nezha_call_t call(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const bool scatters = collective_ == NEZHA_REDUCE_SCATTER, gathers = collective_ == NEZHA_ALLGATHER;
    std::byte* const vector = vectors_[at].data();
    nezha_call_t call = make_call(*kind_, count_, gathers ? vector + begin(at) : vector, in_place_ ? vector : results_[at].data());
    call.collective = collective_;
    call.counts = scatters || gathers ? counts_.data() : nullptr;
    return call;
  }

  /// Of all ranks, when they have returned: sums of integers, in any order.
  void check(const std::string& more) const {
    const std::vector<std::byte> sums = collective_ == NEZHA_ALLGATHER ? std::vector<std::byte>() : ring_result(*kind_, inputs_);
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
      std::vector<std::byte> right = collective_ == NEZHA_ALLGATHER ? gathered() : sums;
      if (collective_ == NEZHA_REDUCE_SCATTER) right.assign(sums.begin() + begin_of(rank), sums.begin() + begin_of(rank + 1));
      EXPECT_TRUE(same_bytes(result(rank), right)) << text() << " on rank " << rank << more;
    }
  }
  std::vector<std::byte> result(std::size_t rank) const {
    const std::vector<std::byte>& got = in_place_ ? vectors_[rank] : results_[rank];
    return {got.begin(), got.begin() + static_cast<std::ptrdiff_t>(results_[rank].size())};
  }

 private:
  std::size_t begin(std::size_t rank) const {
    return kind_->element * std::accumulate(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
  }
  std::ptrdiff_t begin_of(std::size_t rank) const { return static_cast<std::ptrdiff_t>(begin(rank)); }
  void keep_own_blocks() {
    for (std::size_t rank = 0; rank < vectors_.size(); ++rank) {
      std::fill(vectors_[rank].begin(), vectors_[rank].end(), std::byte{0x5a});
      std::copy(inputs_[rank].begin() + begin_of(rank), inputs_[rank].begin() + begin_of(rank + 1), vectors_[rank].begin() + begin_of(rank));
    }
  }
  std::vector<std::byte> gathered() const {
    std::vector<std::byte> all;
    for (std::size_t rank = 0; rank < inputs_.size(); ++rank)
      all.insert(all.end(), inputs_[rank].begin() + begin_of(rank), inputs_[rank].begin() + begin_of(rank + 1));
    return all;
  }
  std::string text() const {
    const char* const names[] = {"allreduce", "reduce_scatter", "allgather"};
    return std::string(names[collective_]) + " of " + std::to_string(count_) + (in_place_ ? " in place" : "");
  }

  nezha_collective_t collective_;
  const Kind* kind_;
  std::vector<std::size_t> counts_;
  std::size_t count_ = 0;
  bool in_place_;
  std::vector<std::vector<std::byte>> inputs_, vectors_, results_;
};

class HierarchyBlocks : public HierarchyCase {
 protected:
  /// Nodes have equally many ranks.
  static bool columns() {
    const std::vector<std::string>& all = GetParam().nodes;
    const auto ranks_of = [&](const std::string& node) { return std::count(all.begin(), all.end(), node); };
    return std::all_of(all.begin(), all.end(), [&](const std::string& node) { return ranks_of(node) == ranks_of(all[0]); });
  }
  std::vector<std::size_t> even(std::size_t count) const { return std::vector<std::size_t>(GetParam().nodes.size(), count); }
  /// In an order of their own, allreduces in between.
  std::vector<Blocks> calls_of(const Kind& kind, std::size_t block, std::mt19937& random) const {
    std::vector<Blocks> calls;
    for (int i = 0; i < 4; ++i)
      for (const nezha_collective_t each : {NEZHA_REDUCE_SCATTER, NEZHA_ALLGATHER, NEZHA_ALLREDUCE})
        calls.emplace_back(team_, each, kind, even(block), random() % 2 == 0, random() % 1000);
    std::shuffle(calls.begin(), calls.end(), random);
    return calls;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Grounds, HierarchyBlocks,
    testing::Values(Ground{"two_and_two", {"a", "a", "b", "b"}}, Ground{"in_turn", {"a", "b", "a", "b"}},
                    Ground{"three_of_two", {"c", "a", "b", "a", "b", "c"}}, Ground{"two_of_three", {"a", "b", "b", "a", "a", "b"}},
                    Ground{"three_and_one", {"a", "a", "a", "b"}}, Ground{"node_of_two", {"a", "a"}, true},
                    Ground{"node_of_five", {"a", "a", "a", "a", "a"}, true}),
    name_of);

TEST_P(HierarchyBlocks, AreRight) {
  ASSERT_TRUE(team_.start());
  std::mt19937 random(5);
  std::uint64_t made = 0, by_memory = 0;
  for (const std::size_t block : {1, 30, 2000, 10000, 200000}) {
    std::vector<Blocks> calls = calls_of(kind("int32_sum"), block, random);
    made += calls.size();
    by_memory += columns() ? calls.size() : calls.size() / 3;
    carry_late(calls);
    for (const Blocks& each : calls) each.check("");
  }
  counted(by_memory, made);
}

/// More of them at once than there are tracks, with blocking ones in between.
TEST_P(HierarchyBlocks, AreRightWithoutBlocking) {
  ASSERT_TRUE(team_.start());
  std::mt19937 random(6);
  for (const std::size_t block : {1, 1500, 30000}) {
    std::vector<Blocks> calls = calls_of(kind("int32_sum"), block, random), blocking = calls_of(kind("int32_sum"), 10, random);
    ranks_.run([&](int rank) {
      std::vector<nezha_request_t*> requests;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        ASSERT_NE(requests.emplace_back(start(rank, calls[i])), nullptr);
        carry(rank, blocking[i]);
        if (HasFatalFailure()) return;
      }
      await(rank, requests);
    });
    for (const Blocks& each : calls) each.check(", without blocking");
    for (const Blocks& each : blocking) each.check(", blocking");
  }
}

/// Sums of floats depend on the order, which is that of positions; and what the host reduces, on elements of any size.
TEST_P(HierarchyBlocks, ReduceToTheSameBits) {
  ASSERT_TRUE(team_.start());
  for (const char* name : {"float_sum", "row_sum"}) {
    for (const std::size_t block : {1, 30, 300}) {
      std::vector<Blocks> calls;
      for (int i = 0; i < 4; ++i) calls.emplace_back(team_, NEZHA_REDUCE_SCATTER, kind(name), even(block), i % 2 == 0, 9);
      carry_late(calls);
      for (std::size_t rank = 0; rank < GetParam().nodes.size(); ++rank)
        for (Blocks& each : calls) EXPECT_TRUE(same_bytes(each.result(rank), calls[0].result(rank))) << name << " " << block;
    }
  }
}

/// They go from rank to rank; within one node the host's own collectives carry them.
TEST_P(HierarchyBlocks, OfUnevenBlocksAreRight) {
  ASSERT_TRUE(team_.start());
  std::vector<Blocks> calls;
  for (const nezha_collective_t each : {NEZHA_REDUCE_SCATTER, NEZHA_ALLGATHER}) {
    std::vector<std::size_t> counts = even(3000);
    counts.back() += 1;
    calls.emplace_back(team_, each, kind("int32_sum"), counts, false, 3);
  }
  const std::uint64_t before = ranks_.at(0).memory().calls;
  ranks_.run([&](int rank) {
    for (Blocks& each : calls) {
      const nezha_call_t call = each.call(rank);
      ASSERT_EQ(nezha_carry(team_.handle(rank), &call), GetParam().within_node ? NEZHA_USE_INCUMBENT : NEZHA_OK);
    }
  });
  EXPECT_EQ(ranks_.at(0).memory().calls, before);
  for (const Blocks& each : calls)
    if (!GetParam().within_node) each.check("");
}

/// Each rank sends its block to the one counterpart, and nothing goes over rails within a node.
TEST(HierarchyOfBlocks, SendsEachBlockOnce) {
  constexpr std::size_t kBlock = 100000, kBytes = 4 * kBlock, kMore = 60000;
  Ranks ranks(4, kSettings, {"a", "a", "b", "b"});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const auto sent = [&](int rank) {
    std::uint64_t bytes = 0;
    for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) bytes += rail.bytes_sent;
    return bytes;
  };
  for (const nezha_collective_t collective : {NEZHA_REDUCE_SCATTER, NEZHA_ALLGATHER}) {
    std::vector<std::uint64_t> before;
    for (int rank = 0; rank < ranks.size(); ++rank) before.push_back(sent(rank));
    Blocks each(team, collective, kind("int32_sum"), std::vector<std::size_t>(4, kBlock), false, 3);
    ranks.run([&](int rank) {
      const nezha_call_t call = each.call(rank);
      ASSERT_EQ(nezha_carry(team.handle(rank), &call), NEZHA_OK);
    });
    each.check("");
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const std::uint64_t more = sent(rank) - before[static_cast<std::size_t>(rank)];
      EXPECT_GE(more, kBytes) << "rank " << rank;
      EXPECT_LE(more, kBytes + kMore) << "rank " << rank;
    }
  }
}

}  // namespace
}  // namespace nezha::test
