// SPDX-License-Identifier: BSD-3-Clause
/// What goes from rank to rank in words and bytes: the plan, and what a process publishes.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/address.h"
#include "tuning/plan.h"

namespace nezha {
namespace {

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
      {"aggregator_share", "25"}, {"sharp", "1"}, {"strict_persistent_order", "1"}};
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
