// SPDX-License-Identifier: BSD-3-Clause
/// Allreduce over the members of a node, which are threads here: the bits of a fold in the order of members, for both
/// ways to read neighbours' vectors, alone and around a stage between nodes.
#include "node/node_stage.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>

#include "node/node_life.h"
#include "node_ways.h"
#include "slowed_down.h"

namespace nezha::test {
namespace {

using std::chrono::microseconds;

INSTANTIATE_TEST_SUITE_P(Ways, NodeStageTest, testing::Values(Way{"copies", kCopies}, Way{"single", kSingleCopy}),
                         [](const auto& way) { return std::string(way.param.name); });

/// All members run all cases back to back.
void run_cases(std::uint32_t members, std::size_t chunk, const NodeStageOptions& options,
               const std::vector<NodeCase>& cases, bool delays = false) {
  const NodeGround ground(members, chunk);
  std::vector<std::vector<std::byte>> expected;
  for (const NodeCase& each : cases) expected.push_back(node_expected(each, members));
  as_threads(members, [&](std::uint32_t member) {
    NodeMemory memory = ground.memory(member);
    NodeRank rank(memory, options);
    std::mt19937 random(member);
    for (std::size_t i = 0; i < cases.size() && !testing::Test::HasFailure(); ++i) {
      if (delays && random() % 8 == 0) std::this_thread::sleep_for(microseconds(random() % 1000));
      rank.begin(cases[i]);
      rank.expect(expected[i]);
    }
  });
}

TEST_P(NodeStageTest, EveryTypeAndOperation) {
  struct Type {
    nezha_type_t type;
    std::size_t bytes;
  };
  const Type types[] = {{NEZHA_INT8, 1},   {NEZHA_UINT8, 1}, {NEZHA_INT16, 2},  {NEZHA_UINT16, 2}, {NEZHA_INT32, 4},
                        {NEZHA_UINT32, 4}, {NEZHA_INT64, 8}, {NEZHA_UINT64, 8}, {NEZHA_FLOAT, 4},  {NEZHA_DOUBLE, 8}};
  std::vector<NodeCase> cases;
  for (const Type& type : types) {
    for (int op = 0; op < NEZHA_OP_COUNT; ++op) {
      if (find_kernel(type.type, static_cast<nezha_op_t>(op)) == nullptr) continue;
      for (const std::size_t count : {3, 30000}) {
        cases.push_back({.type = type.type,
                         .op = static_cast<nezha_op_t>(op),
                         .element = type.bytes,
                         .count = count,
                         .carriers = {}});
      }
    }
  }
  ASSERT_GT(cases.size(), 100u);
  run_cases(3, 8 * 1024, GetParam().options, cases);
}

TEST_P(NodeStageTest, SizesAroundEveryBorder) {
  for (const std::uint32_t members : {1, 2, 3, 5}) {
    std::vector<NodeCase> cases;
    for (const std::size_t border :
         {std::size_t{1}, std::size_t{16}, NodeLayout::small_limit(members, false),
          NodeLayout::small_limit(members, true), std::size_t{16 * 1024}, 4 * 16 * 1024 * kNodeDepth}) {
      for (const int apart : {-1, 0, 1}) {
        for (const bool in_place : {false, true}) {
          const std::size_t count = border + static_cast<std::size_t>(apart);
          for (const std::size_t carriers : {0, 1})
            cases.push_back({.type = NEZHA_UINT8,
                             .element = 1,
                             .count = count,
                             .in_place = in_place,
                             .carriers = std::vector<std::uint32_t>(carriers)});
        }
      }
    }
    run_cases(members, 16 * 1024, GetParam().options, cases);
  }
}

/// Many operations in a row, without anything else to keep members together.
TEST_P(NodeStageTest, RandomOperationsBackToBack) {
  std::mt19937 random(7);
  for (const std::uint32_t members : {2, 3, 4, 8}) {
    std::vector<NodeCase> cases;
    for (int i = 0; i < fewer(60); ++i) {
      const std::size_t largest = i % 10 == 0 ? fewer<std::size_t>(1024 * 1024) : i % 3 == 0 ? 60 * 1024 : 3000;
      NodeCase next{.count = 1 + random() % largest,
                    .in_place = random() % 2 == 0,
                    .seed = static_cast<unsigned>(random()),
                    .carriers = {}};
      // Carriers in any order, any number of them.
      if (random() % 2 == 0) {
        for (std::uint32_t member = 0; member < members; ++member) next.carriers.push_back(member);
        std::shuffle(next.carriers.begin(), next.carriers.end(), random);
        next.carriers.resize(1 + random() % members);
        next.whole_part_first = random() % 2 == 0;
      }
      cases.push_back(std::move(next));
    }
    run_cases(members, 32 * 1024, GetParam().options, cases, true);
  }
}

/// A broadcast's or a reduction's side on one node, in any mix with sums for all: members of which one is over before
/// others have begun go on to the next one.
NodeCase random_case(std::mt19937& random, std::uint32_t members) {
  const std::size_t largest = random() % 10 == 0 ? fewer<std::size_t>(1024 * 1024) : random() % 3 == 0 ? 60 * 1024 : 3000;
  NodeCase next{.count = 1 + random() % largest,
                .in_place = random() % 2 == 0,
                .seed = static_cast<unsigned>(random()),
                .carriers = {}};
  for (std::uint32_t member = 0; member < members; ++member) next.carriers.push_back(member);
  std::shuffle(next.carriers.begin(), next.carriers.end(), random);
  next.carriers.resize(1 + random() % members);
  next.whole_part_first = random() % 2 == 0;
  const std::uint32_t root = static_cast<std::uint32_t>(random() % members);
  switch (random() % 6) {
    case 0:
      next.from = root;
      break;
    case 1:
      next.from = root;
      next.carriers.clear();
      break;
    case 2:
      next.from = kNoMember;
      break;
    case 3:
      next.to = root;
      break;
    case 4:
      next.to = kNoMember;
      break;
    default:
      break;
  }
  return next;
}

TEST_P(NodeStageTest, RootsBackToBack) {
  std::mt19937 random(11);
  for (const std::uint32_t members : {2, 3, 4, 8}) {
    std::vector<NodeCase> cases;
    for (int i = 0; i < fewer(150); ++i) cases.push_back(random_case(random, members));
    run_cases(members, 16 * 1024, GetParam().options, cases, true);
  }
}

/// Each kind many times in a row, of each size: nothing else brings members together.
TEST_P(NodeStageTest, OneKindOfRootsInARow) {
  constexpr std::uint32_t kMembers = 4;
  for (const std::size_t count : {1, 5000, 50000}) {
    for (std::uint32_t root = 0; root < kMembers; ++root) {
      const std::vector<std::uint32_t> carriers{2, 0};
      const NodeCase kinds[] = {{.count = count, .carriers = {}, .from = root},
                                {.count = count, .carriers = carriers, .from = root},
                                {.count = count, .carriers = carriers, .from = kNoMember},
                                {.count = count, .in_place = true, .carriers = carriers, .to = root},
                                {.count = count, .carriers = {root}, .to = kNoMember}};
      for (const NodeCase& kind : kinds) {
        std::vector<NodeCase> cases(fewer<std::size_t>(12), kind);
        for (std::size_t i = 0; i < cases.size(); ++i) cases[i].seed = static_cast<unsigned>(i + 1);
        run_cases(kMembers, 16 * 1024, GetParam().options, cases, true);
      }
    }
  }
}

/// A member that makes the same calls, in whatever order of kinds, and begins some of them between any two looks at it.
TEST(BegunKinds, AreTheSameOfAMemberThatGoesOnMeanwhile) {
  constexpr unsigned kCalls = 6;
  for (unsigned order = 0; order < 1u << kCalls; ++order) {  // a bit for each call: it is a small one
    const auto begun = [order](unsigned calls) {
      const auto small = static_cast<unsigned>(std::popcount(order & ((1u << calls) - 1)));
      return NodeBegun{.small = small, .chunked = calls - small};
    };
    for (unsigned own = 0; own <= kCalls; ++own)
      for (unsigned first = 0; first <= kCalls; ++first)
        for (unsigned second = first; second <= kCalls; ++second)
          for (unsigned third = second; third <= kCalls; ++third) {
            const unsigned calls[] = {first, second, third};
            unsigned looks = 0;
            const auto look = [&] { return begun(calls[looks++]); };
            ASSERT_FALSE(began_another_kind(begun(own), [&] { return look().small; }, [&] { return look().chunked; }))
                << "order " << order << ", own " << own << ", seen " << first << ", " << second << ", " << third;
          }
  }
}

TEST(BegunKinds, DifferWhereOneIsSmallAndTheOtherIsNot) {
  const auto differ = [](const NodeBegun& own, const NodeBegun& other) {
    return began_another_kind(own, [&] { return other.small; }, [&] { return other.chunked; });
  };
  EXPECT_TRUE(differ({.small = 8, .chunked = 5}, {.small = 7, .chunked = 6}));
  EXPECT_TRUE(differ({.small = 7, .chunked = 6}, {.small = 8, .chunked = 5}));
}

/// The root of a broadcast needs nobody, but for room in its slots: it may be one operation ahead, and not two.
TEST(NodeStage, RootOfABroadcastIsOneAheadAtMost) {
  for (const std::size_t count : {10, 10000}) {
    const NodeGround ground(3, 64 * 1024);  // a chunk each, so that there are slots
    NodeMemory memories[] = {ground.memory(0), ground.memory(1), ground.memory(2)};
    NodeRank ranks[] = {NodeRank(memories[0], kCopies), NodeRank(memories[1], kCopies), NodeRank(memories[2], kCopies)};
    const NodeCase first{.count = count, .seed = 1, .carriers = {}, .from = 1};
    const NodeCase second{.count = count, .seed = 2, .carriers = {}, .from = 1};
    const NodeCase third{.count = count, .seed = 3, .carriers = {}, .from = 1};
    const auto poll = [&](std::uint32_t member) {
      for (int i = 0; i < 10; ++i) ranks[member].poll();
      return ranks[member].stage().over();
    };
    ranks[1].begin(first);
    EXPECT_TRUE(poll(1));
    ranks[1].begin(second);
    EXPECT_FALSE(poll(1));
    ranks[0].begin(first);
    ranks[0].expect(node_expected(first, 3));
    EXPECT_FALSE(poll(1));
    ranks[2].begin(first);
    EXPECT_TRUE(poll(1));
    ranks[1].begin(third);
    EXPECT_FALSE(poll(1));
    ranks[2].expect(node_expected(first, 3));
    ranks[2].begin(second);
    ranks[2].expect(node_expected(second, 3));
    ranks[0].begin(second);
    ranks[0].expect(node_expected(second, 3));
    EXPECT_TRUE(poll(1));
  }
}

/// An operation that a member comes late to holds up none on another track, be it small or in chunks.
TEST_P(NodeStageTest, TracksGoOnIndependently) {
  constexpr std::uint32_t kMembers = 3;
  for (const std::size_t count : {10, 100000}) {
    const NodeGround ground(kMembers, 256 * 1024);
    const NodeCase held{.count = count, .seed = 1, .carriers = {}}, other{.count = 90000, .seed = 2, .carriers = {}};
    as_threads(kMembers, [&](std::uint32_t member) {
      NodeMemory first = ground.memory(member), later = first.on(1), last = first.on(kNodeTracks - 1);
      NodeRank one(first, GetParam().options), two(later, GetParam().options), three(last, GetParam().options);
      if (member != 1) two.begin(held);
      one.begin(other);
      one.expect(node_expected(other, kMembers));
      three.begin(held);
      three.expect(node_expected(held, kMembers));
      if (member == 1) two.begin(held);
      two.expect(node_expected(held, kMembers));
    });
  }
}

/// The carriers' stage gives nothing back before it has all: nothing may wait for slots of results then.
TEST_P(NodeStageTest, StageBetweenNodesWantsTheWholeVectorFirst) {
  for (const std::size_t carriers : {1, 2, 3}) {
    NodeCase wanted{.count = 300 * 1024, .carriers = {}, .whole_part_first = true};
    for (std::size_t i = 0; i < carriers; ++i) wanted.carriers.push_back(static_cast<std::uint32_t>(i));
    run_cases(4, 16 * 1024, GetParam().options, {wanted, wanted});
  }
}

/// Elements of odd sizes, and fewer elements than members or carriers.
TEST_P(NodeStageTest, FewLargeElements) {
  struct Host {
    static void add(void*, void* ctx, const void* in, void* inout, std::size_t, std::size_t count) {
      const auto* from = static_cast<const unsigned char*>(in);
      auto* to = static_cast<unsigned char*>(inout);
      for (std::size_t i = 0; i < count * *static_cast<std::size_t*>(ctx); ++i)
        to[i] = static_cast<unsigned char>(from[i] * 2 + to[i]);
    }
  };
  const std::uint32_t members = 4;
  for (std::size_t element : {5000, 12000, 16384}) {
    for (const std::size_t count : {1, 2, 3, 7}) {
      const std::size_t bytes = element * count;
      const NodeGround ground(members, 16 * 1024);
      as_threads(members, [&](std::uint32_t member) {
        NodeMemory memory = ground.memory(member);
        NodeStage stage(memory, GetParam().options);
        ASSERT_GE(stage.largest_element(), element);
        std::vector<std::byte> vector(bytes, std::byte(member + 1));
        Reducer reducer;
        reducer.host = &Host::add;
        reducer.call_ctx = &element;
        reducer.element = element;
        const std::uint32_t carriers[] = {2, 0, 1};
        stage.begin(
            {.send = vector.data(), .recv = vector.data(), .bytes = bytes, .reducer = reducer, .carriers = carriers});
        while (!stage.over() && stage.failed().ok()) {
          if (!stage.poll()) std::this_thread::yield();
          if (stage.part().size() != 0) stage.supply(stage.reduced_up_to());
        }
        // 1*2 + (2*2 + (3*2 + 4))
        for (const std::byte byte : vector) ASSERT_EQ(static_cast<int>(byte), 16);
      });
    }
  }
}

TEST_P(NodeStageTest, ResultGrowsFromTheBeginning) {
  const NodeGround ground(2, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  NodeRank ranks[] = {NodeRank(memories[0], GetParam().options), NodeRank(memories[1], GetParam().options)};
  const NodeCase wanted{.count = 200 * 1024, .carriers = {}};
  ranks[0].begin(wanted);
  for (int i = 0; i < 100; ++i) ranks[0].poll();
  EXPECT_EQ(ranks[0].stage().final_up_to(), 0u);
  ranks[1].begin(wanted);
  std::size_t last = 0, steps = 0;
  while (!ranks[0].stage().over() || !ranks[1].stage().over()) {
    ranks[0].poll();
    ranks[1].poll();
    ASSERT_GE(ranks[0].stage().final_up_to(), last);
    if (ranks[0].stage().final_up_to() != last) ++steps;
    last = ranks[0].stage().final_up_to();
  }
  EXPECT_EQ(last, wanted.bytes());
  EXPECT_GT(steps, 2u);
}

/// With single copy the vectors of a member are read until the slowest has its result.
TEST(NodeStage, OverWaitsForReaders) {
  const NodeGround ground(2, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  NodeRank ranks[] = {NodeRank(memories[0], kSingleCopy), NodeRank(memories[1], kSingleCopy)};
  const NodeCase wanted{.count = 16 * 1024, .carriers = {}};
  for (NodeRank& rank : ranks) rank.begin(wanted);
  for (int i = 0; i < 2; ++i) {  // both have reduced, and only one has taken
    ranks[1].stage().poll();
    ranks[0].stage().poll();
  }
  ASSERT_EQ(ranks[0].stage().final_up_to(), wanted.bytes());
  if (ranks[1].stage().final_up_to() < wanted.bytes()) {
    EXPECT_FALSE(ranks[0].stage().over());
  }
  ranks[1].finish();
  EXPECT_TRUE(ranks[0].stage().over());
}

TEST_P(NodeStageTest, EmptyVectorIsOverAtOnce) {
  const NodeGround ground(2, 16 * 1024);
  NodeMemory memory = ground.memory(0);
  NodeRank rank(memory, GetParam().options);
  rank.begin({.count = 0, .carriers = {}});
  EXPECT_TRUE(rank.stage().over());
}

/// A count that moves is a sign of life, and nobody is silent while nobody asks.
TEST(NodeLife, IsSeenByItsBeats) {
  const NodeGround ground(2, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  NodeLife one(memories[0]), other(memories[1]);
  Nanoseconds now = 100 * kSecond;
  EXPECT_EQ(one.quiet(1, now), 0);
  for (int i = 0; i < 5; ++i) one.quiet(1, now += kSecond / 2);
  EXPECT_EQ(one.quiet(1, now), 5 * kSecond / 2);
  other.beat();
  EXPECT_EQ(one.quiet(1, now), 0);
  EXPECT_EQ(one.quiet(1, now += kSecond / 2), kSecond / 2);
  EXPECT_EQ(one.quiet(1, now + 10 * kSecond), 0) << "nobody asked for a while";
}

TEST(NodeStage, SleeperIsWokenByTheFlagItAwaits) {
  const NodeGround ground(2, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  std::atomic<bool> awake = false;
  std::thread sleeper([&] {
    memories[0].announce_sleep();
    while (NodeMemory::load(memories[0].lines(1).flags.reduced) == 0) memories[0].sleep(3600 * kSecond);
    memories[0].awake();
    awake = true;
  });
  while (std::atomic_ref(memories[0].member(0).asleep).load() == 0) std::this_thread::yield();
  memories[1].advance(memories[1].lines(1).flags.reduced, 1);
  sleeper.join();
  EXPECT_TRUE(awake);
}

/// Of those that sleep nobody is woken by a vector with which it cannot go on.
TEST(NodeStage, SmallVectorsWakeWhoCanGoOn) {
  for (const bool carried : {true, false}) {
    const NodeGround ground(4, 16 * 1024);
    NodeMemory memories[] = {ground.memory(0), ground.memory(1), ground.memory(2), ground.memory(3)};
    NodeRank ranks[] = {NodeRank(memories[0], kCopies), NodeRank(memories[1], kCopies), NodeRank(memories[2], kCopies),
                        NodeRank(memories[3], kCopies)};
    const auto sleeps = [&](std::uint32_t member) {
      return std::atomic_ref(memories[0].member(member).asleep).load() == 1;
    };
    const NodeCase wanted{.count = 10, .carriers = std::vector<std::uint32_t>(carried ? 1 : 0)};
    for (const std::uint32_t member : {0, 2, 3}) {
      ranks[member].begin(wanted);
      EXPECT_FALSE(ranks[member].poll());
      memories[member].announce_sleep();
      for (const std::uint32_t before : {0, 2, 3}) EXPECT_EQ(sleeps(before), before <= member) << member;
    }
    ranks[1].begin(wanted);
    EXPECT_FALSE(sleeps(0));
    EXPECT_EQ(sleeps(2), carried) << "until the carrier has the result";
    EXPECT_EQ(sleeps(3), carried);
    memories[0].awake();
    ranks[0].finish();
    EXPECT_FALSE(sleeps(2));
    EXPECT_FALSE(sleeps(3));
    for (const std::uint32_t member : {2, 3}) memories[member].awake();
    for (NodeRank& rank : ranks) rank.finish();
  }
}

}  // namespace
}  // namespace nezha::test
