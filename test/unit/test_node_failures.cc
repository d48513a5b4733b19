// SPDX-License-Identifier: BSD-3-Clause
/// Members of a node that die, leave, give up, or call with something else than the others: who has an error, and whom
/// it names.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_ways.h"

namespace nezha::test {
namespace {

class NodeFailureTest : public NodeStageTest {};

INSTANTIATE_TEST_SUITE_P(Ways, NodeFailureTest, testing::Values(Way{"copies", kCopies}, Way{"single", kSingleCopy}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(NodeFailureTest, MemberThatDiedFailsTheOthers) {
  for (const std::size_t count : {10, 100000}) {
    const NodeGround ground(3, 16 * 1024);
    as_threads(3, [&](std::uint32_t member) {
      NodeMemory memory = ground.memory(member);
      NodeRank rank(memory, GetParam().options);
      if (member == 1) return memory.mark_gone(1, NodeEnd::died);
      rank.begin({.count = count, .carriers = {}});
      rank.finish();
      EXPECT_EQ(rank.stage().failed().code(), Code::closed);
      EXPECT_EQ(rank.stage().failed_member(), 1u);
    });
  }
}

/// Also where a member needs nothing of that one: whoever comes to wait for it, now or in the next call, has an error.
TEST_P(NodeFailureTest, MemberThatDiedFailsCallsWithRoots) {
  const std::vector<std::uint32_t> carriers{0, 1};
  for (const std::size_t count : {10, 100000}) {
    const NodeCase kinds[] = {{.count = count, .carriers = {}, .from = 0},
                              {.count = count, .carriers = carriers, .from = 2},
                              {.count = count, .carriers = carriers, .from = kNoMember},
                              {.count = count, .carriers = carriers, .to = 2},
                              {.count = count, .carriers = {0}, .to = kNoMember}};
    for (const NodeCase& kind : kinds) {
      const NodeGround ground(3, 16 * 1024);
      as_threads(3, [&](std::uint32_t member) {
        NodeMemory memory = ground.memory(member);
        NodeRank rank(memory, GetParam().options);
        if (member == 1) return memory.mark_gone(1, NodeEnd::died);
        for (int call = 0; call < 2 && rank.stage().failed().ok(); ++call) {
          rank.begin(kind);
          rank.finish();
        }
        EXPECT_EQ(rank.stage().failed().code(), Code::closed)
            << "member " << member << " from " << kind.from << " to " << kind.to;
        EXPECT_EQ(rank.stage().failed_member(), 1u);
      });
    }
  }
}

/// A root that has handed its vector out may leave, and a member that has handed its own in.
TEST(NodeFailure, MemberThatLeftIsNotMissedByARoot) {
  for (const std::size_t count : {10, 10000}) {
    const NodeCase kinds[] = {{.count = count, .carriers = {}, .from = 0},
                              {.count = count, .carriers = {1}, .to = kNoMember}};
    for (const NodeCase& kind : kinds) {
      const NodeGround ground(2, 16 * 1024);
      NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
      NodeRank ranks[] = {NodeRank(memories[0], kCopies), NodeRank(memories[1], kCopies)};
      ranks[0].begin(kind);
      if (kind.from == kEveryMember) ranks[1].begin(kind);
      while (!ranks[0].stage().over()) {
        ranks[0].poll();
        if (kind.from == kEveryMember && !ranks[0].stage().over()) ranks[1].poll();
      }
      memories[0].mark_gone(0, NodeEnd::left);
      if (kind.from != kEveryMember) ranks[1].begin(kind);
      ranks[1].expect(node_expected(kind, 2));
    }
  }
}

TEST_P(NodeFailureTest, BroadcastsThatDifferFail) {
  struct Pair {
    std::size_t root, other;
  };
  for (const Pair& counts : {Pair{10, 11}, Pair{10, 100000}, Pair{100000, 10}, Pair{100000, 100001}}) {
    const NodeGround ground(2, 16 * 1024);
    as_threads(2, [&](std::uint32_t member) {
      NodeMemory memory = ground.memory(member);
      NodeRank rank(memory, GetParam().options);
      // The root hears of it when it waits for the other one.
      for (int call = 0; call < 3 && rank.stage().failed().ok(); ++call) {
        rank.begin({.count = member == 0 ? counts.root : counts.other, .carriers = {}, .from = 0});
        rank.finish();
      }
      EXPECT_FALSE(rank.stage().failed().ok());
    });
  }
}

/// Whoever has done its part may leave while others still copy.
TEST_P(NodeFailureTest, MemberThatLeftAfterItsPartIsNotMissed) {
  for (const std::size_t count : {10, 100000}) {
    const NodeGround ground(2, 16 * 1024);
    NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
    NodeRank ranks[] = {NodeRank(memories[0], kCopies), NodeRank(memories[1], kCopies)};
    const NodeCase wanted{.count = count, .carriers = {}};
    for (NodeRank& rank : ranks) rank.begin(wanted);
    while (!ranks[0].stage().over()) {
      ranks[0].poll();
      if (!ranks[0].stage().over()) ranks[1].poll();
    }
    memories[0].mark_gone(0, NodeEnd::left);
    ranks[1].expect(node_expected(wanted, 2));
  }
}

TEST_P(NodeFailureTest, CallsThatDifferFail) {
  struct Pair {
    std::size_t one, other;
  };
  for (const Pair& counts : {Pair{10, 11}, Pair{10, 100000}, Pair{100000, 100001}}) {
    const NodeGround ground(2, 16 * 1024);
    as_threads(2, [&](std::uint32_t member) {
      NodeMemory memory = ground.memory(member);
      NodeRank rank(memory, GetParam().options);
      rank.begin({.count = member == 0 ? counts.one : counts.other, .carriers = {}});
      rank.finish();
      EXPECT_FALSE(rank.stage().failed().ok());
    });
  }
}

/// Its caller may have written over its vector by then, and a sum of that would be wrong.
TEST(NodeFailure, VectorOfMemberThatGaveUpIsNotUsed) {
  const NodeGround ground(2, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  NodeRank ranks[] = {NodeRank(memories[0], kSingleCopy), NodeRank(memories[1], kSingleCopy)};
  for (NodeRank& rank : ranks) rank.begin({.count = 16 * 1024, .carriers = {}});
  while (NodeMemory::load(memories[1].lines(1).flags.reduced) == 0) ranks[1].poll();
  ranks[1].stage().give_up(1);
  ranks[0].poll();
  EXPECT_EQ(ranks[0].stage().final_up_to(), 0u);
  ranks[0].finish();
  EXPECT_EQ(ranks[0].stage().failed_member(), 1u);
}

/// Who waited for another member and gives up says for which: the rest name that one.
TEST(NodeFailure, MemberThatAnotherGaveUpForIsNamed) {
  const NodeGround ground(3, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  NodeRank ranks[] = {NodeRank(memories[0], kCopies), NodeRank(memories[1], kCopies)};
  for (NodeRank& rank : ranks) rank.begin({.count = 100000, .carriers = {}});
  ranks[1].stage().give_up(2);
  ranks[0].finish();
  EXPECT_EQ(ranks[0].stage().failed_member(), 2u);
}

/// Also one of another node, in a number behind those of the members; and who hears of it passes it on.
TEST(NodeFailure, RankOfAnotherNodeIsNamed) {
  const NodeGround ground(3, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1), ground.memory(2)};
  NodeRank ranks[] = {NodeRank(memories[0], kCopies), NodeRank(memories[1], kCopies)};
  for (NodeRank& rank : ranks) rank.begin({.count = 100000, .carriers = {}});
  ranks[1].stage().give_up(3 + 17);
  ranks[0].finish();
  EXPECT_EQ(ranks[0].stage().failed_member(), 3u + 17u);
  EXPECT_EQ(ranks[0].stage().failed().text().find("another rank"), std::string::npos);
  EXPECT_EQ(memories[2].blamed(0), 3u + 17u);
}

/// Who has given up because of a death, and ended itself, is not named for it.
TEST(NodeFailure, FirstDeathIsNamedNotThoseThatFollow) {
  const NodeGround ground(3, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
  for (const std::uint32_t member : {1, 2}) {
    memories[1].member(member).trial.pid = static_cast<std::uint64_t>(ended);
    NodeLines& gone = memories[1].lines(member);
    gone.call = {.begun = 1, .last = {{}, {.bytes = 400000, .send = 4096, .recv = 4096}}};
    gone.flags = {.contributed = 100, .reduced = 100, .gathered = 0, .supplied = 0, .taken = 100};
  }
  memories[1].mark_gone(1, NodeEnd::died);
  memories[1].mark_gone(2, NodeEnd::gave_up);
  NodeRank rank(memories[0], kSingleCopy);  // it reads the vector of member 2 first
  rank.begin({.count = 100000, .carriers = {}});
  rank.finish();
  EXPECT_EQ(rank.stage().failed_member(), 1u);
}

/// A member that has its result and then ends takes its vector with it, which another one still wants to read.
TEST(NodeFailure, MemberThatDiedAfterItsPartIsMissedByReaders) {
  const NodeGround ground(3, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1), ground.memory(2)};
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
  memories[1].member(1).trial.pid = static_cast<std::uint64_t>(ended);
  NodeLines& dead = memories[1].lines(1);
  dead.call = {.begun = 1, .last = {{}, {.bytes = 400000, .send = 4096, .recv = 4096}}};
  dead.flags = {.contributed = 100, .reduced = 100, .gathered = 0, .supplied = 0, .taken = 100};
  memories[1].mark_gone(1, NodeEnd::died);
  NodeRank ranks[] = {NodeRank(memories[0], kSingleCopy), NodeRank(memories[2], kSingleCopy)};
  for (NodeRank& rank : ranks) rank.begin({.count = 100000, .carriers = {}});
  for (NodeRank& rank : ranks) {
    rank.finish();
    EXPECT_EQ(rank.stage().failed().code(), Code::closed);
    EXPECT_EQ(rank.stage().failed_member(), 1u);
  }
}

/// Whatever lies in the memory, an address of a neighbour included.
TEST(NodeFailure, UnreadableVectorFails) {
  const NodeGround ground(2, 16 * 1024);
  NodeMemory memories[] = {ground.memory(0), ground.memory(1)};
  NodeRank rank(memories[0], kSingleCopy);
  NodeCallLine& line = memories[1].lines(1).call;
  line.last[1] = {.bytes = 400000, .send = 64, .recv = 64};
  line.begun = 1;
  rank.begin({.count = 100000, .carriers = {}});
  rank.finish();
  EXPECT_EQ(rank.stage().failed().code(), Code::bad_peer);
  EXPECT_EQ(rank.stage().failed_member(), 1u);
  EXPECT_EQ(memories[1].gone(0), NodeEnd::gave_up);
}
}  // namespace
}  // namespace nezha::test
