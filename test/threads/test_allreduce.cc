// SPDX-License-Identifier: BSD-3-Clause
/// Allreduces of every kind among ranks that are threads, against a reference, to the bit and on every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>

#include "matrix.h"

namespace nezha::test {
namespace {

constexpr std::size_t kGuard = 32;            // bytes before and behind a result that must stay as they are
constexpr std::byte kGuardByte{0x5a};
constexpr std::size_t kBatch = 7;             // calls one after the other without a rest
constexpr std::size_t kMostCopied = 32 * 1024;

/// A reference: the sum of vectors in a certain order.
using Sum = std::vector<std::byte> (*)(const Kind& kind, std::span<const std::vector<std::byte>> vectors);

/// One call on all ranks: what they contribute, where the result goes.
class Collective {
 public:
  Collective(const World& world, const Case& which)
      : kind_(kinds()[which.kind]), count_(count_choice(which.choice, kind_.element, world.ranks)), in_place_(which.in_place),
        shift_(which.kind % 2 * kind_.host.alignment) {
    for (int rank = 0; rank < world.ranks; ++rank) {
      const auto seed = world.index * 1000003 + which.kind * 101 + static_cast<std::size_t>(rank);
      sends_.push_back(make_vector(kind_, count_, seed));
      given_.push_back(sends_.back());
      recvs_.emplace_back(2 * kGuard + shift_ + sends_.back().size(), kGuardByte);
      if (in_place_) std::copy(sends_.back().begin(), sends_.back().end(), result(rank));
    }
  }

  std::string name() const {
    return kind_.name + " of " + std::to_string(count_) + (in_place_ ? " in place" : "");
  }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return sends_[0].size(); }

  int call(Team& team, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const std::byte* send = in_place_ ? result(rank) : sends_[at].data();
    return team.allreduce(rank, make_call(kind_, count_, send, result(rank)));
  }

  /// `sums`: the orders of summing whose bits are right; `order`: ranks by position.
  void check(const World& world, const std::vector<int>& order, const std::vector<Sum>& sums) {
    std::vector<std::vector<std::byte>> vectors;
    for (const int rank : order) vectors.push_back(sends_[static_cast<std::size_t>(rank)]);
    std::vector<std::byte> expected;
    for (const Sum sum : sums)
      if (expected.empty() || !equals(0, expected)) expected = sum(kind_, vectors);
    EXPECT_TRUE(equals(0, expected)) << name() << ": wrong, first at byte " << first_difference(expected);
    for (int rank = 0; rank < world.ranks; ++rank) {
      EXPECT_EQ(std::memcmp(result(rank), result(0), bytes()), 0) << name() << ": other bits on rank " << rank;
      EXPECT_TRUE(guards_stand(rank)) << name() << ": written outside on rank " << rank;
      const auto at = static_cast<std::size_t>(rank);
      EXPECT_TRUE(sends_[at] == given_[at]) << name() << ": input changed on rank " << rank;
    }
  }

 private:
  std::byte* result(int rank) { return recvs_[static_cast<std::size_t>(rank)].data() + kGuard + shift_; }
  bool equals(int rank, const std::vector<std::byte>& expected) {
    return std::memcmp(expected.data(), result(rank), expected.size()) == 0;
  }
  std::ptrdiff_t first_difference(const std::vector<std::byte>& expected) {
    return std::mismatch(expected.begin(), expected.end(), result(0)).first - expected.begin();
  }
  bool guards_stand(int rank) {
    const auto& all = recvs_[static_cast<std::size_t>(rank)];
    const auto is_guard = [](std::byte byte) { return byte == kGuardByte; };
    return std::all_of(all.data(), all.data() + kGuard + shift_, is_guard) &&
           std::all_of(all.data() + all.size() - kGuard, all.data() + all.size(), is_guard);
  }

  const Kind& kind_;
  const std::size_t count_;
  const bool in_place_;
  const std::size_t shift_;  ///< results are aligned for their elements, not for vectors
  std::vector<std::vector<std::byte>> sends_, given_, recvs_;
};

/// Whose bits there may be.
std::vector<Sum> sums_of(const World& world, std::size_t bytes) {
  if (world.algorithm == "halving") return {halving_result};
  if (world.algorithm == "doubling" && bytes <= kMostCopied) return {tree_result};
  if (world.algorithm == "auto" && bytes <= kMostCopied) return {tree_result, ring_result};
  return {ring_result};
}

class Allreduce : public testing::TestWithParam<std::size_t> {};

TEST_P(Allreduce, OfEveryKind) {
  const World world = test::world(GetParam());
  Ranks ranks(world.ranks, world.settings(), world.nodes());
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const std::vector<int> order = ranks.ring_order(team.members());
  const std::size_t stride = slowed_down() ? 7 : 1;
  std::uint64_t carried = 0;
  for (std::size_t first = 0; first < kinds().size(); first += kBatch * stride) {
    std::vector<Collective> batch;
    for (std::size_t kind = first; kind < std::min(first + kBatch * stride, kinds().size()); kind += stride)
      batch.emplace_back(world, make_case(world, kind));
    ranks.run([&](int rank) {
      for (Collective& collective : batch) EXPECT_EQ(collective.call(team, rank), NEZHA_OK) << collective.name();
    });
    for (Collective& collective : batch) {
      carried += collective.count() != 0 ? 1 : 0;
      if (collective.count() != 0)
        collective.check(world, order, sums_of(world, collective.bytes()));
    }
  }
  for (int rank = 0; rank < world.ranks; ++rank) {
    EXPECT_EQ(ranks.at(rank).calls(), carried) << "not all calls were carried by rails";
    std::uint64_t sent = 0;
    for (const nezha_rail_stats_t& rail : ranks.at(rank).rails()) {
      EXPECT_EQ(rail.lanes_up, static_cast<unsigned>(world.ranks - 1)) << rail.name;
      // The few small vectors that a sanitizer has time for may all find the first rail free.
      if (!slowed_down()) {
        EXPECT_GT(rail.bytes_sent, 0u) << rail.name;
      }
      sent += rail.bytes_sent;
    }
    EXPECT_GT(sent, 0u);
  }
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  const World which = world(info.param);
  return std::to_string(which.ranks) + "_ranks_" + which.algorithm;
}
INSTANTIATE_TEST_SUITE_P(Worlds, Allreduce, testing::Range<std::size_t>(0, kWorlds), name_of);

TEST(Matrix, CoversEveryPair) {
  std::set<std::array<std::size_t, 4>> met;  // dimension, value, dimension, value
  for (std::size_t index = 0; index < kWorlds; ++index) {
    for (std::size_t kind = 0; kind < kinds().size(); ++kind) {
      const Case one = make_case(world(index), kind);
      const std::array values = {one.kind, one.choice, index / kAlgorithms.size(), index % kAlgorithms.size(),
                                 std::size_t{one.in_place}};
      for (std::size_t a = 0; a < values.size(); ++a)
        for (std::size_t b = a + 1; b < values.size(); ++b) met.insert({a, values[a], b, values[b]});
    }
  }
  const std::array sizes = {kinds().size(), kCountChoices, kRankCounts.size(), kAlgorithms.size(), std::size_t{2}};
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < sizes.size(); ++a)
    for (std::size_t b = a + 1; b < sizes.size(); ++b) pairs += sizes[a] * sizes[b];
  EXPECT_EQ(met.size(), pairs);
}

/// A pinned algorithm gives the same bits in jobs of their own, whatever the rails, their shares and the chunks.
class Pinned : public testing::TestWithParam<const char*> {};

TEST_P(Pinned, SameBitsRunAfterRun) {
  const Kind& sum = kind("float_sum");
  const std::vector<Settings> runs = {{{"single_node", "1"}},
                                      {{"single_node", "1"}},
                                      {{"single_node", "2"}, {"share", "lo0:1,lo1:5"}},
                                      {{"single_node", "3"}, {"chunk", "2048"}}};
  for (const std::size_t count : {1500, 100001}) {
    std::vector<std::vector<std::byte>> results;
    for (Settings settings : runs) {
      settings.emplace_back("algorithm", GetParam());
      Ranks ranks(5, settings);
      Team team(ranks, "everybody");
      ASSERT_TRUE(team.start());
      std::vector<std::byte> result(count * sum.element);
      ranks.run([&](int rank) {
        const std::vector<std::byte> send = make_vector(sum, count, static_cast<std::size_t>(rank));
        std::vector<std::byte> recv(send.size());
        EXPECT_EQ(team.allreduce(rank, make_call(sum, count, send.data(), recv.data())), NEZHA_OK);
        if (rank == 0) result = recv;
      });
      results.push_back(result);
    }
    for (const auto& result : results) EXPECT_TRUE(result == results[0]) << count << " elements";
  }
}
INSTANTIATE_TEST_SUITE_P(Algorithms, Pinned, testing::Values("ring", "mesh", "single_step", "doubling", "halving"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace nezha::test
