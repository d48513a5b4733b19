// SPDX-License-Identifier: BSD-3-Clause
/// A team's members: their order, what they vote on, and when they agree on rates.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/team.h"

namespace nezha {
namespace {

using Words = std::array<std::uint64_t, NEZHA_VOTE_WORDS>;

struct Members {
  Members(const std::vector<std::string>& nodes) : nodes_(nodes) {
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      peers_.push_back(std::make_unique<Peer>());
      peers_.back()->address.node = nodes[rank];
    }
  }
  std::unique_ptr<Team> team(int rank) {
    std::vector<Peer*> peers;
    for (auto& peer : peers_) peers.push_back(peer.get());
    peers[static_cast<std::size_t>(rank)] = nullptr;
    const Address& self = peers_[static_cast<std::size_t>(rank)]->address;
    return std::make_unique<Team>("team", rank, std::move(peers), self, Nanoseconds{0}, buffers_);
  }
  int rank_of(const Peer& peer) const {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank)
      if (peers_[rank].get() == &peer) return static_cast<int>(rank);
    return -1;
  }

 private:
  BufferPool buffers_;
  std::vector<std::string> nodes_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST(Team, RingsGoFromNodeToNodeAndAllRanksSeeTheSame) {
  Members members({"b", "a", "b", "c", "a"});
  std::vector<int> next;
  for (int rank = 0; rank < 5; ++rank) next.push_back(members.rank_of(members.team(rank)->next_peer()));
  EXPECT_EQ(next, (std::vector<int>{2, 4, 1, 0, 3}));
}

class Agreement : public testing::Test {
 protected:
  Agreement() {
    for (int rank = 0; rank < 3; ++rank) teams.push_back(members.team(rank));
  }
  /// Every rank votes, and decides on what all said together.
  void hold(const std::function<void(int, Words&)>& change = {}) {
    Words all{};
    for (std::size_t rank = 0; rank < 3; ++rank) {
      Words words{};
      teams[rank]->vote(words, plans[rank], TeamId{100 + rank}, ready[rank], false);
      if (change) change(static_cast<int>(rank), words);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] |= words[i];
    }
    for (std::size_t rank = 0; rank < 3; ++rank) states[rank] = teams[rank]->decide(all, plans[rank], notices[rank]);
  }
  void all_are(nezha_team_state_t state) {
    for (const nezha_team_state_t each : states) EXPECT_EQ(each, state);
  }

  Members members{{"a", "b", "c"}};
  std::vector<std::unique_ptr<Team>> teams;
  std::array<Plan, 3> plans{};
  std::array<bool, 3> ready{true, true, true};
  std::array<nezha_team_state_t, 3> states{};
  std::array<Notices, 3> notices;
};

TEST_F(Agreement, RankZerosIdAndPlanCount) {
  plans[0].chunk = plans[1].chunk = plans[2].chunk = 4096;
  hold();
  all_are(NEZHA_TEAM_READY);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(teams[rank]->id(), 100u);
    EXPECT_EQ(teams[rank]->plan().chunk, 4096u);
    EXPECT_TRUE(notices[rank].empty());
  }
}

TEST_F(Agreement, OtherParametersAreNamedWhereTheyAre) {
  plans[2].chunk = 4096;
  hold();
  all_are(NEZHA_TEAM_READY);
  EXPECT_EQ(teams[2]->plan().chunk, 0u);
  EXPECT_TRUE(notices[0].empty());
  ASSERT_EQ(notices[2].size(), 1u);
  EXPECT_EQ(notices[2][0].topic, "parameters differ");
  EXPECT_EQ(notices[2][0].arguments,
            (std::vector<std::string>{"team", "2", "c", "a", "  coll_nezha_chunk: 4k, rank 0 has 0"}));
}

TEST_F(Agreement, WaitsForEverybody) {
  ready[1] = false;
  hold();
  all_are(NEZHA_TEAM_WIRING);
  ready[1] = true;
  hold();
  all_are(NEZHA_TEAM_READY);
}

TEST_F(Agreement, OneNoIsEnoughAndFinal) {
  hold([](int rank, Words& words) {
    if (rank == 1) Team::vote_no(words);
  });
  all_are(NEZHA_TEAM_DECLINED);
  hold();
  all_are(NEZHA_TEAM_DECLINED);
}

TEST_F(Agreement, AnotherVersionDeclines) {
  hold([](int rank, Words& words) {
    if (rank != 2) return;
    words[1] += 1;
    words[2] = ~words[1];
  });
  all_are(NEZHA_TEAM_DECLINED);
}

TEST_F(Agreement, IsDueAtTheSameCallsOnAllRanks) {
  std::size_t due = 0;
  for (int call = 0; call < 2000; ++call) {
    const std::size_t bytes = call % 97 == 50 ? std::size_t{1} << 20 : 64;
    const bool first = teams[0]->agreement_due(bytes);
    ASSERT_EQ(teams[1]->agreement_due(bytes), first);
    if (call == 0) {
      EXPECT_TRUE(first);
    }
    due += first;
  }
  EXPECT_LT(due, 200u);  // ever rarer
}

/// What all say together before a call of so many bytes.
void agree_on_rates(std::vector<std::unique_ptr<Team>>& teams, std::size_t bytes) {
  std::vector<Call> calls;
  std::vector<std::uint64_t> all(3, 0);
  for (const auto& team : teams) {
    ASSERT_TRUE(team->must_agree(Collective::allreduce, bytes, 4));
    const Call& call = calls.emplace_back(team->agreement(Collective::allreduce, bytes, 4));
    ASSERT_EQ(call.bytes(), all.size() * sizeof all[0]);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] |= reinterpret_cast<const std::uint64_t*>(call.send)[i];
  }
  for (const Call& call : calls) std::memcpy(call.recv, all.data(), call.bytes());
  for (const auto& team : teams) team->take_rates();
}

class Rates : public Agreement {
 protected:
  Rates() {
    for (const auto& team : teams) (void)team->agreement_due(8);
    hold();
  }
  static constexpr std::size_t kLarge = Unsampled::kModest + 4;
};

TEST_F(Rates, AreNotWaitedForBySmallCalls) {
  all_are(NEZHA_TEAM_READY);
  for (const auto& team : teams) EXPECT_TRUE(team->lacks_rates());
  EXPECT_FALSE(teams[0]->rates_due(Collective::allreduce, Unsampled::kFree, 4));
}

TEST_F(Rates, AreWaitedForByModestCallsOnceTheyAmountToEnough) {
  constexpr std::size_t kBefore = Unsampled::kWorthASample / Unsampled::kModest;
  for (const auto& team : teams) {
    for (std::size_t call = 0; call < kBefore; ++call) {
      ASSERT_FALSE(team->must_agree(Collective::allreduce, Unsampled::kFree, 4));
      ASSERT_FALSE(team->must_agree(Collective::allreduce, Unsampled::kModest, 4)) << "call " << call;
    }
    EXPECT_FALSE(team->rates_due(Collective::allreduce, Unsampled::kFree, 4));
  }
  agree_on_rates(teams, Unsampled::kModest);
}

TEST_F(Rates, AreAskedForBeforeALargeCallUntilAllRanksKnowThem) {
  for (const auto& team : teams) {
    agree_on_rates(teams, kLarge);
    EXPECT_TRUE(teams[0]->rates_due(Collective::allreduce, kLarge, 4));
    team->next_peer().sample = Sample::done;
  }
  agree_on_rates(teams, kLarge);
  for (const auto& team : teams) EXPECT_FALSE(team->lacks_rates());
}

TEST_F(Rates, AreNotWaitedForByWhatTheIncumbentCarries) {
  EXPECT_TRUE(teams[0]->rates_due(Collective::allreduce, kLarge, 4));
  EXPECT_FALSE(teams[0]->rates_due(Collective::allreduce, kLarge, kMostElement + 1));
}

TEST_F(Agreement, WaitsForTheSampleWhereNoCallMayBeTheIncumbents) {
  for (Plan& plan : plans) plan.reproducible = true;
  hold();
  all_are(NEZHA_TEAM_WIRING);
  for (const auto& team : teams) team->next_peer().sample = Sample::done;
  hold();
  all_are(NEZHA_TEAM_READY);
}

}  // namespace
}  // namespace nezha
