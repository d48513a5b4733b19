// SPDX-License-Identifier: BSD-3-Clause
/// Broadcasts and reductions by way of the nodes' shared memory: every root, in place and not, among allreduces, on
/// layouts of all sorts, one node included.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <thread>

#include "hierarchy_case.h"
#include "kinds.h"

namespace nezha::test {
namespace {

const Settings kSettings{{"single_node", "2"}};

/// One call on all ranks of a team, and what is to come of it.
class Rooted {
 public:
  Rooted(const Team& team, nezha_collective_t collective, const Kind& kind, std::size_t count, int root, bool in_place,
         std::uint64_t seed)
      : collective_(collective), kind_(&kind), count_(count), root_(root), in_place_(in_place) {
    for (const int rank : team.members()) {
      inputs_.push_back(make_vector(kind, count, seed * 64 + static_cast<std::uint64_t>(rank)));
      vectors_.push_back(inputs_.back());
      results_.emplace_back(inputs_.back().size());
    }
  }

  nezha_call_t call(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const bool apart = collective_ != NEZHA_BROADCAST && !in_place_;
    std::byte* const recv = collective_ == NEZHA_REDUCE && rank != root_ ? nullptr : apart ? results_[at].data() : vectors_[at].data();
    nezha_call_t call = make_call(*kind_, count_, vectors_[at].data(), recv);
    call.collective = collective_;
    call.root = root_;
    return call;
  }

  /// Of all ranks, when they have returned: sums of integers, in any order.
  void check(const std::string& more) const {
    const std::vector<std::byte> right =
        collective_ == NEZHA_BROADCAST ? inputs_[static_cast<std::size_t>(root_)] : ring_result(*kind_, inputs_);
    for (std::size_t rank = 0; rank < vectors_.size(); ++rank) check(static_cast<int>(rank), right, more);
  }
  const std::vector<std::byte>& result() const {
    return (in_place_ ? vectors_ : results_)[static_cast<std::size_t>(root_)];
  }

 private:
  /// A rank's result, and its vector where it keeps that.
  void check(int rank, const std::vector<std::byte>& right, const std::string& more) const {
    const auto at = static_cast<std::size_t>(rank);
    const bool gets = collective_ != NEZHA_REDUCE || rank == root_;
    const std::vector<std::byte>& got = collective_ == NEZHA_BROADCAST || in_place_ ? vectors_[at] : results_[at];
    EXPECT_TRUE(!gets || same_bytes(got, right)) << text() << " on rank " << rank << more;
    const bool keeps = collective_ != NEZHA_BROADCAST && (!gets || !in_place_);
    EXPECT_TRUE(!keeps || same_bytes(vectors_[at], inputs_[at])) << text() << " changes the vector of rank " << rank << more;
  }
  std::string text() const {
    const char* const names[] = {"allreduce", "reduce_scatter", "allgather", "broadcast", "reduce"};
    return std::string(names[collective_]) + " of " + std::to_string(count_) + " from or to " + std::to_string(root_) +
           (in_place_ ? " in place" : "");
  }

  nezha_collective_t collective_;
  const Kind* kind_;
  std::size_t count_;
  int root_;
  bool in_place_;
  std::vector<std::vector<std::byte>> inputs_, vectors_, results_;
};

class HierarchyRoots : public HierarchyCase {
 protected:
  /// Of each kind with each root, in an order of their own, allreduces in between.
  std::vector<Rooted> calls_of(const Kind& kind, std::size_t count, std::mt19937& random) const {
    std::vector<Rooted> calls;
    for (int root = 0; root < size(); ++root)
      for (const nezha_collective_t each : {NEZHA_BROADCAST, NEZHA_REDUCE, NEZHA_BROADCAST, NEZHA_ALLREDUCE, NEZHA_REDUCE})
        if (each != NEZHA_ALLREDUCE || random() % 2 == 0)
          calls.emplace_back(team_, each, kind, count, root, random() % 2 == 0, random() % 1000);
    std::shuffle(calls.begin(), calls.end(), random);
    return calls;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Grounds, HierarchyRoots,
    testing::Values(Ground{"two_and_two", {"a", "a", "b", "b"}}, Ground{"in_turn", {"a", "b", "a", "b"}},
                    Ground{"three_and_one", {"a", "a", "a", "b"}}, Ground{"one_and_three", {"a", "b", "b", "b"}},
                    Ground{"unequal", {"a", "b", "b", "c", "c", "c"}}, Ground{"three_of_two", {"c", "a", "b", "a", "b", "c"}},
                    Ground{"node_of_two", {"a", "a"}, true}, Ground{"node_of_five", {"a", "a", "a", "a", "a"}, true}),
    name_of);

/// Blocking ones, back to back, to which some ranks come late.
TEST_P(HierarchyRoots, AreRight) {
  ASSERT_TRUE(team_.start());
  std::mt19937 random(5);
  std::uint64_t made = 0;
  for (const std::size_t count : {1, 100, 5000, 40000, 700000}) {
    const int rounds = count < 10000 ? 4 : 1;
    for (int round = 0; round < rounds; ++round) {
      std::vector<Rooted> calls = calls_of(kind("int32_sum"), count, random);
      made += calls.size();
      carry_late(calls);
      for (const Rooted& each : calls) each.check("");
    }
  }
  counted(made, made);
}

/// More of them at once than there are tracks, with blocking ones in between.
TEST_P(HierarchyRoots, AreRightWithoutBlocking) {
  ASSERT_TRUE(team_.start());
  std::mt19937 random(6);
  std::uint64_t made = 0;
  for (const std::size_t count : {1, 5000, 100000}) {
    std::vector<Rooted> calls = calls_of(kind("int32_sum"), count, random), blocking = calls_of(kind("int32_sum"), 10, random);
    made += calls.size() + blocking.size();
    ranks_.run([&](int rank) {
      std::vector<nezha_request_t*> requests;
      for (std::size_t i = 0; i < std::max(calls.size(), blocking.size()); ++i) {
        if (i < calls.size()) {
          ASSERT_NE(requests.emplace_back(start(rank, calls[i])), nullptr);
        }
        if (i < blocking.size()) carry(rank, blocking[i]);
        if (HasFatalFailure()) return;
      }
      await(rank, requests);
    });
    for (const Rooted& each : calls) each.check(", without blocking");
    for (const Rooted& each : blocking) each.check(", blocking");
  }
  counted(made, made);
}

/// Sums of floats depend on the order, which is that of positions; and what the host reduces, on elements of any size.
TEST_P(HierarchyRoots, ReduceToTheSameBits) {
  ASSERT_TRUE(team_.start());
  for (const char* name : {"float_sum", "located_max", "row_sum"}) {
    for (const std::size_t count : {3, 300}) {
      const bool ordered = std::string_view(name) != "located_max";
      for (int root = 0; root < size(); ++root) {
        std::vector<Rooted> calls;
        for (int i = 0; i < 4; ++i) calls.emplace_back(team_, NEZHA_REDUCE, kind(name), count, root, i % 2 == 0, 9);
        ranks_.run([&](int rank) {
          for (Rooted& each : calls) {
            carry(rank, each);
            if (HasFatalFailure()) return;
          }
        });
        for (Rooted& each : calls) EXPECT_TRUE(same_bytes(each.result(), calls[0].result())) << name << " " << count;
        if (!ordered) calls[0].check(name);
      }
    }
  }
}

/// One that cannot go on ends the calls of all, whatever the root, and it is named.
TEST_P(HierarchyRoots, EndWithAnErrorThatNamesTheMember) {
  ASSERT_TRUE(team_.start());
  const int victim = size() - 1;
  ranks_.run([&](int rank) {
    if (rank == victim) return nezha_team_give_up(team_.handle(rank), "a test");
    for (int calls = 0; calls < 100; ++calls) {
      Rooted each(team_, calls % 2 == 0 ? NEZHA_BROADCAST : NEZHA_REDUCE, kind("int32_sum"), 50000, calls % size(), true, 1);
      const nezha_call_t call = each.call(rank);
      const int result = nezha_carry(team_.handle(rank), &call);
      if (result == NEZHA_OK) continue;
      EXPECT_EQ(result, NEZHA_ERR_FAILED);
      char text[256];
      nezha_team_error(team_.handle(rank), text, sizeof text);
      EXPECT_NE(std::string(text).find("rank " + std::to_string(victim) + " on "), std::string::npos) << text;
      return;
    }
    ADD_FAILURE() << "rank " << rank << " has no error";
  });
}

/// A member whose part is done may leave while others wait for one that computes: it shows no life any more, and is not to blame.
TEST(HierarchyOfRoots, DoesNotMissAMemberThatHasLeft) {
  Settings settings = kSettings;
  settings.emplace_back("timeout", "1");
  Ranks ranks(3, settings);
  Team team(ranks, "everybody");
  team.within_node = true;
  ASSERT_TRUE(team.start());
  Rooted each(team, NEZHA_REDUCE, kind("int32_sum"), 100, 0, false, 1);
  ranks.run([&](int rank) {
    if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    const nezha_call_t call = each.call(rank);
    ASSERT_EQ(nezha_carry(team.handle(rank), &call), NEZHA_OK) << "rank " << rank;
    if (rank == 1) team.destroy(rank);
  });
  each.check("");
}

std::uint64_t sent(const Rank& rank) {
  std::uint64_t bytes = 0;
  for (const nezha_rail_stats_t& rail : rank.rails()) bytes += rail.bytes_sent;
  return bytes;
}

/// Between two nodes the vector goes once, shared out over the ranks of the one, wherever in it the root is.
TEST(HierarchyOfRoots, SendsAVectorOnce) {
  constexpr std::size_t kCount = 1 << 19, kBytes = 4 * kCount, kMore = 100000;
  Ranks ranks(5, kSettings, {"a", "b", "a", "b", "a"});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (const nezha_collective_t collective : {NEZHA_BROADCAST, NEZHA_REDUCE}) {
    for (const int root : {0, 3, 4}) {
      const bool from_a = (root % 2 == 0) == (collective == NEZHA_BROADCAST);
      std::vector<std::uint64_t> bytes;
      for (int rank = 0; rank < ranks.size(); ++rank) bytes.push_back(sent(ranks.at(rank)));
      Rooted each(team, collective, kind("int32_sum"), kCount, root, false, 3);
      ranks.run([&](int rank) {
        const nezha_call_t call = each.call(rank);
        ASSERT_EQ(nezha_carry(team.handle(rank), &call), NEZHA_OK);
      });
      each.check("");
      for (int rank = 0; rank < ranks.size(); ++rank) {
        const std::uint64_t more = sent(ranks.at(rank)) - bytes[static_cast<std::size_t>(rank)];
        const bool sends = rank < 4 && (rank % 2 == 0) == from_a;
        EXPECT_GE(more, sends ? kBytes / 2 : 0) << "rank " << rank << ", root " << root;
        EXPECT_LE(more, (sends ? kBytes / 2 : 0) + kMore) << "rank " << rank << ", root " << root;
      }
    }
  }
}

/// As long as it lives this process may map so many bytes more than now.
class LittleMemory {
 public:
  explicit LittleMemory(std::size_t spare) {
    getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit little{pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + spare, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_;
};

/// Carriers that get no result need memory for it, before anything of the call has begun.
TEST(HierarchyRootsWithoutMemory, FailAndTheProcessGoesOn) {
  constexpr std::size_t kBytes = 256 << 20;
  Ranks ranks(4, kSettings, {"a", "a", "b", "b"});
  Team fails(ranks, "fails"), works(ranks, "works");
  ASSERT_TRUE(fails.start() && works.start());
  const std::unique_ptr<std::byte[]> send(new std::byte[kBytes]), recv(new std::byte[kBytes]);  // of pages not touched
  {
    const LittleMemory little(kBytes - (64 << 20));
    ranks.run([&](int rank) {
      nezha_call_t call = make_call(kind("int32_sum"), kBytes / 4, send.get(), rank == 0 ? recv.get() : nullptr);
      call.collective = NEZHA_REDUCE;
      EXPECT_EQ(nezha_carry(fails.handle(rank), &call), NEZHA_ERR_FAILED) << rank;
    });
  }
  std::string errors;  // the first carrier ends the call of the others
  for (int rank = 0; rank < ranks.size(); ++rank) {
    std::array<char, 512> text{};
    nezha_team_error(fails.handle(rank), text.data(), text.size());
    errors.append(text.data()).append("\n");
  }
  EXPECT_NE(errors.find("the system refuses memory"), std::string::npos) << errors;
  Rooted sum(works, NEZHA_REDUCE, kind("int32_sum"), 100000, 0, false, 1);
  ranks.run([&](int rank) {
    const nezha_call_t call = sum.call(rank);
    EXPECT_EQ(nezha_carry(works.handle(rank), &call), NEZHA_OK) << rank;
  });
  sum.check("");
}

}  // namespace
}  // namespace nezha::test
