// SPDX-License-Identifier: BSD-3-Clause
/// What ranks agree on: the plan, a team's votes, and what a process publishes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "engine/address.h"
#include "engine/team.h"
#include "tuning/plan.h"

namespace nezha {
namespace {

using Words = std::array<std::uint64_t, NEZHA_VOTE_WORDS>;

Config some_config() {
  Config config;
  config.algorithm = AlgorithmChoice::mesh;
  config.threshold = 11;
  config.small_max = 22;
  config.chunk = 33;
  config.reproducible = true;
  return config;
}

TEST(Plan, TravelsAsWords) {
  const Plan plan = Plan::from(some_config());
  std::array<std::uint64_t, Plan::kWords> words{};
  plan.encode(words);
  const Plan back = Plan::decode(words);
  EXPECT_EQ(back, plan);
  EXPECT_EQ(back.algorithm, AlgorithmChoice::mesh);
  EXPECT_EQ(back.chunk, 33u);
  EXPECT_TRUE(back.reproducible);
  for (std::uint64_t& word : words) {  // every one of them counts
    const std::uint64_t was = word;
    word ^= 1;
    EXPECT_NE(Plan::decode(words), plan);
    word = was;
  }
}

TEST(Plan, EveryParameterThatDecidesIsNamedWhereItDiffers) {
  std::size_t count = 0;
  const nezha_param_t* const rows = nezha_params(&count);
  const std::map<std::string, std::string> others = {
      {"algorithm", "ring"}, {"threshold", "3"}, {"small_max", "1k"},    {"mesh_block", "1k"},      {"chunk", "1k"},
      {"reproducible", "1"}, {"learn", "0"},     {"shared_memory", "0"}, {"incumbent_margin", "30"}, {"mesh_peers", "5"},
      {"aggregator_share", "25"}, {"sharp", "1"}};
  const Plan first = Plan::from(Config());
  EXPECT_EQ(differences(first, first), "");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = rows[i].name;
    // Of these the contents of the file travel, or whether there are some.
    if (rows[i].decides == 0 || name == "table" || name == "aggregators") continue;
    ASSERT_TRUE(others.contains(name)) << name;
    Config config;
    ASSERT_TRUE(set_parameter(config, name, others.at(name)).ok());
    const std::string text = differences(Plan::from(config), first), fallback = rows[i].fallback;
    EXPECT_EQ(text, "  coll_nezha_" + name + ": " + others.at(name) + ", rank 0 has " + fallback);
  }
  Config config;
  ASSERT_TRUE(set_parameter(config, "aggregators", "node7:4757").ok());
  EXPECT_EQ(differences(Plan::from(config), first), "  coll_nezha_aggregators: some, rank 0 has none");
}

TEST(Plan, ChunksAreWholeElements) {
  for (std::size_t element : {1u, 3u, 8u, 12u, 4096u, 65536u})
    for (std::size_t chunk : {0u, 1u, 1000u, 262144u}) {
      Config config;
      config.chunk = chunk;
      const Plan plan = Plan::from(config);
      for (std::size_t count : {1u, 100u, 100000u})
        for (int size : {2, 3, 16})
          for (const AlgorithmChoice choice :
               {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::halving}) {
            const std::size_t bytes = plan.chunk_for({choice}, count * element, element, size);
            ASSERT_NE(bytes, 0u);
            ASSERT_EQ(bytes % element, 0u);
          }
    }
}

TEST(Plan, NoLargeVectorIsSentByCopy) {
  for (int choice = 0; choice <= static_cast<int>(AlgorithmChoice::incumbent); ++choice)
    for (std::size_t small_max : {0u, 100u, 1u << 30})
      for (const bool reproducible : {false, true}) {
        Config config;
        config.algorithm = static_cast<AlgorithmChoice>(choice);
        config.small_max = small_max;
        config.reproducible = reproducible;
        const Plan plan = Plan::from(config);
        for (std::size_t bytes = 1; bytes <= std::size_t{1} << 32; bytes *= 2)
          for (int size : {2, 3, 4, 100}) {
            const AlgorithmChoice chosen = plan.choose(bytes, 1, size);
            ASSERT_NE(chosen, AlgorithmChoice::automatic);
            if (chosen == AlgorithmChoice::doubling || chosen == AlgorithmChoice::single_step) {
              ASSERT_LE(bytes, kMostCopied);
            }
            if (reproducible && choice == 0) {  // bits of theirs are not those of the others; of which there are none without meshes
              ASSERT_TRUE(chosen != AlgorithmChoice::doubling || !plan.meshes(size));
              ASSERT_NE(chosen, AlgorithmChoice::halving);
            }
          }
      }
}

TEST(Plan, SmallCallsAndGiantElementsAreLeftToTheIncumbent) {
  Config config;
  config.threshold = 1000;
  const Plan plan = Plan::from(config);
  EXPECT_EQ(plan.choose(999, 1, 4), AlgorithmChoice::incumbent);
  EXPECT_NE(plan.choose(1000, 1, 4), AlgorithmChoice::incumbent);
  EXPECT_EQ(plan.choose(10 * kMostElement, kMostElement + 1, 4), AlgorithmChoice::incumbent);
}

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
    const std::string& node = nodes_[static_cast<std::size_t>(rank)];
    return std::make_unique<Team>("team", rank, std::move(peers), node, Nanoseconds{0}, buffers_);
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

Address some_address(std::size_t rails) {
  Address address;
  address.id = 77;
  address.job_rank = 5;
  address.node = "node";
  address.key.fill(9);
  address.window = 4096;
  for (std::size_t i = 0; i < rails; ++i) {
    RailAddress& rail = address.rails.emplace_back();
    rail.transport = "tcp";
    rail.name = "eth" + std::to_string(i);
    rail.device = "eth1";
    rail.family = 4;
    rail.precedence = 3;
    rail.network = std::vector<std::byte>(5, std::byte{9});
    rail.place = std::vector<std::byte>(i == 0 ? kMaxRailPlace : 18, static_cast<std::byte>(i));
    rail.speed_mbps = 10000;
  }
  return address;
}

Address with_loopback(Address address) {
  address.loopback = {4711, some_address(2).rails[1]};
  return address;
}

TEST(Address, ComesBack) {
  const Address sent = some_address(3);
  Address got;
  ASSERT_TRUE(decode_address(encode_address(sent), got).ok());
  EXPECT_EQ(got.id, sent.id);
  EXPECT_EQ(got.job_rank, sent.job_rank);
  EXPECT_EQ(got.node, sent.node);
  EXPECT_EQ(got.key, sent.key);
  EXPECT_EQ(got.window, sent.window);
  ASSERT_EQ(got.rails.size(), 3u);
  EXPECT_EQ(got.rails[2].label(), "tcp/eth2");
  EXPECT_EQ(got.rails, sent.rails);
  EXPECT_EQ(got.loopback, Loopback{});
  ASSERT_TRUE(decode_address(encode_address(with_loopback(sent)), got).ok());
  EXPECT_EQ(got.loopback, with_loopback(sent).loopback);
  EXPECT_EQ(got.rails.size(), 3u);
}

TEST(Address, WhatIsCutShortOrTooLongIsRefused) {
  std::vector<std::byte> bytes = encode_address(with_loopback(some_address(2)));
  Address got;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Status status = decode_address(std::span(bytes).first(size), got);
    ASSERT_EQ(status.code(), Code::bad_peer) << size;
    ASSERT_FALSE(status.text().empty());
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_address(bytes, got).ok());
}

TEST(Address, WordsOfARailAreBounded) {
  Address address = some_address(1), got;
  address.rails[0].place.resize(kMaxRailPlace + 1);
  EXPECT_EQ(decode_address(encode_address(address), got).code(), Code::bad_peer);
  address = some_address(1);
  address.rails[0].network.resize(kMaxRailNetwork + 1);
  EXPECT_EQ(decode_address(encode_address(address), got).code(), Code::bad_peer);
  address = some_address(1);
  address.rails[0].name = std::string(1000, 'x');
  ASSERT_TRUE(decode_address(encode_address(address), got).ok());
  EXPECT_EQ(got.rails[0].name, std::string(kMaxRailWord, 'x'));
}

TEST(Address, OthersAndOtherVersionsAndTooManyRailsAreRefused) {
  Address got;
  std::vector<std::byte> bytes = encode_address(some_address(1));
  bytes[0] ^= std::byte{1};
  EXPECT_FALSE(decode_address(bytes, got).ok());
  bytes = encode_address(some_address(1));
  bytes[4] ^= std::byte{64};
  EXPECT_FALSE(decode_address(bytes, got).ok());
  EXPECT_FALSE(decode_address(encode_address(some_address(kMaxRails + 1)), got).ok());
  EXPECT_TRUE(decode_address(encode_address(some_address(kMaxRails)), got).ok());
  Address nobody = some_address(1);
  nobody.id = 0;
  EXPECT_FALSE(decode_address(encode_address(nobody), got).ok());
}

}  // namespace
}  // namespace nezha
