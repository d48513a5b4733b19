// SPDX-License-Identifier: BSD-3-Clause
/// The parts that a trunk is made of, each alone, against simple models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "trunk/early_store.h"
#include "trunk/flow.h"
#include "trunk/block_ring.h"
#include "trunk/lane_state.h"
#include "trunk/pending_acks.h"
#include "trunk/received_set.h"
#include "trunk/sent_log.h"

namespace nezha {
namespace {

TEST(BlockRing, BlocksDoNotOverlapWhateverTheOrderOfReturn) {
  constexpr std::size_t kCapacity = 4096;
  BlockRing ring(kCapacity);
  std::mt19937 random(7);
  struct Block {
    std::byte* at;
    std::size_t size;
    std::byte mark;
  };
  std::vector<Block> blocks;
  std::size_t held = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      const std::size_t size = 1 + random() % 700;
      const auto mark = static_cast<std::byte>(i);
      std::byte* at = ring.take(size);
      if (at == nullptr) continue;
      held += size;
      ASSERT_LE(held, kCapacity);
      std::memset(at, static_cast<int>(mark), size);
      blocks.push_back({at, size, mark});
    } else if (!blocks.empty()) {
      const std::size_t which = random() % blocks.size();
      const Block block = blocks[which];
      for (std::size_t k = 0; k < block.size; ++k) ASSERT_EQ(block.at[k], block.mark);
      ring.release(block.at);
      held -= block.size;
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  for (const Block& block : blocks) ring.release(block.at);
  EXPECT_NE(ring.take(kCapacity - 16), nullptr);  // all of it is there again
  EXPECT_EQ(ring.take(1), nullptr);
}

TEST(BlockRing, FewBlocksTakeTurnsAtTheFront) {
  BlockRing ring(64 * 1024);
  std::byte* const first = ring.take(1000);
  std::byte* older = first;
  for (int i = 0; i < 1000; ++i) {
    std::byte* newer = ring.take(1000);
    ASSERT_NE(newer, nullptr);
    ASSERT_LT(newer, first + 3000) << i;
    ring.release(older);
    older = newer;
  }
}

TEST(BlockRing, WhatLiesBehindALateBlockIsOfUseAllTheSame) {
  BlockRing ring(4096);
  std::byte* early = ring.take(1008);
  std::byte* late = ring.take(1008);
  ring.release(early);
  ASSERT_NE(early = ring.take(496), nullptr);  // at the front
  EXPECT_LT(early, late);
  EXPECT_GT(ring.take(2032), late);  // up to the end
  EXPECT_EQ(ring.take(512), nullptr);
  EXPECT_NE(ring.take(496), nullptr);
  EXPECT_EQ(ring.take(0), nullptr);
}

PieceHeader piece(std::uint64_t id, TeamId team, OpNumber op, std::uint32_t length) {
  PieceHeader header;
  header.id = id;
  header.team = team;
  header.op = op;
  header.length = length;
  header.set_ended(op - 1);
  return header;
}

TEST(PendingAcks, ALaterOperationOfTheSameTeamAcknowledges) {
  PendingAcks pending;
  pending.add(piece(1, 5, 1, 100));
  pending.add(piece(2, 5, 2, 100));
  EXPECT_EQ(pending.pieces(), 2u);
  EXPECT_EQ(pending.bytes(), 200u);
  pending.sent(piece(1, 5, 1, 100));
  pending.sent(piece(2, 6, 3, 100));  // another team
  EXPECT_EQ(pending.pieces(), 2u);
  pending.sent(piece(3, 5, 2, 100));  // the peer was ahead
  EXPECT_EQ(pending.pieces(), 1u);
  EXPECT_EQ(pending.bytes(), 100u);
  pending.sent(piece(3, 5, 3, 100));
  EXPECT_EQ(pending.pieces(), 0u);
  EXPECT_EQ(pending.bytes(), 0u);
}

TEST(PendingAcks, OnlyARecordAcknowledgesWhatIsNotOfOneTeam) {
  for (const bool control : {false, true}) {
    for (const bool first : {false, true}) {
      PendingAcks pending;
      PieceHeader other = piece(1, control ? 5 : 6, 1, control ? 0 : 100);
      other.control = control;
      if (first) pending.add(other);
      pending.add(piece(2, 5, 1, 100));
      if (!first) pending.add(other);
      pending.add(piece(3, 5, 1, 100));
      pending.sent(piece(1, 5, 2, 100));
      EXPECT_EQ(pending.pieces(), 3u) << control << first;
      pending.recorded(true);
      pending.add(piece(4, 5, 2, 100));
      pending.sent(piece(2, 5, 3, 100));
      EXPECT_EQ(pending.pieces(), 0u);
    }
  }
  PendingAcks pending;
  pending.add(piece(1, 5, 1, 100));
  pending.at_least(8);
  pending.sent(piece(1, 5, 2, 100));
  EXPECT_EQ(pending.pieces(), 8u);
}

TEST(PendingAcks, WhatARecordLeavesOutIsForTheNextOne) {
  PendingAcks pending;
  pending.add(piece(300, 5, 2, 100));
  pending.recorded(false);
  EXPECT_EQ(pending.pieces(), 0u) << "nothing can be said before something is missing no more";
  pending.add(piece(1, 5, 1, 100));
  pending.sent(piece(1, 5, 2, 100));
  EXPECT_EQ(pending.pieces(), 1u);
}

TEST(ReceivedSet, TellsWhetherItsAckNamesAll) {
  constexpr std::uint64_t kNamed = 64 * AckRecord().bits.size();
  ReceivedSet set;
  EXPECT_TRUE(set.ack_names_all());
  set.add(kNamed);
  EXPECT_TRUE(set.ack_names_all());
  set.add(kNamed + 1);
  EXPECT_FALSE(set.ack_names_all());
  set.add(1);
  EXPECT_TRUE(set.ack_names_all());
}

/// A piece takes 512 bytes of it at least.
TEST(EarlyStore, KeepsWithinTheWindow) {
  EarlyStore store(600 + 512);
  std::byte* first = store.reserve(piece(1, 5, 1, 600));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(store.reserve(piece(2, 5, 1, 513)), nullptr);
  std::byte* second = store.reserve(piece(2, 5, 2, 400));
  ASSERT_NE(second, nullptr);
  std::memset(first, 1, 600);
  std::memset(second, 2, 400);
  store.keep(first);
  store.keep(second);
  int taken = 0;
  store.take(5, 1, [&](const PieceHeader& header, const std::byte* data) {
    EXPECT_EQ(header.id, 1u);
    EXPECT_EQ(data[599], std::byte{1});
    ++taken;
  });
  EXPECT_EQ(taken, 1);
  store.take(5, 1, [&](const PieceHeader&, const std::byte*) { ++taken; });
  EXPECT_EQ(taken, 1);
  EXPECT_NE(store.reserve(piece(3, 6, 1, 600)), nullptr);
  store.forget(5);
  EXPECT_NE(store.reserve(piece(4, 6, 1, 400)), nullptr);
  EXPECT_EQ(store.reserve(piece(5, 6, 1, 1)), nullptr);
}

TEST(EarlyStore, APieceCountsOnceAndNotBeyondTheBeginning) {
  EarlyStore store(1000);
  std::byte* one = store.reserve(piece(1, 5, 1, 1000));
  std::byte* same = store.reserve(piece(1, 5, 1, 1000));
  ASSERT_NE(one, nullptr);
  ASSERT_NE(same, nullptr);
  ASSERT_NE(one, same);
  store.drop(one);  // its lane died: the other one counts now
  EXPECT_EQ(store.reserve(piece(2, 5, 2, 1)), nullptr);
  store.take(5, 1, [](const PieceHeader&, const std::byte*) { FAIL(); });
  std::byte* next = store.reserve(piece(2, 5, 2, 1000));
  ASSERT_NE(next, nullptr);
  std::memset(same, 1, 1000);
  std::memset(next, 2, 1000);
  EXPECT_EQ(same[999], std::byte{1});
  store.drop(same);
  store.drop(next);
  EXPECT_TRUE(store.empty());
}

TEST(EarlyStore, MemoryBesideTheRingIsUsedAgain) {
  EarlyStore store(2500);
  std::byte* others[] = {store.reserve(piece(1, 5, 1, 8)), store.reserve(piece(2, 5, 1, 8)),
                         store.reserve(piece(3, 5, 1, 8))};
  for (std::byte* buffer : others) store.drop(buffer);
  ASSERT_NE(store.reserve(piece(4, 5, 1, 1900)), nullptr);
  std::byte* beside = store.reserve(piece(4, 5, 1, 1900));
  store.drop(beside);
  ASSERT_NE(store.reserve(piece(5, 5, 1, 100)), nullptr);  // its slot is another one
  EXPECT_EQ(store.reserve(piece(4, 5, 1, 1900)), beside);
}

TEST(Flow, MostHopsFirstThenInOrder) {
  Flow flow;
  flow.open(1, 1, 4);
  const std::byte data[64]{};
  flow.push({.data = data, .offset = 100, .size = 8, .hops = 1});
  flow.push({.data = data, .offset = 200, .size = 8, .hops = 3});
  flow.push({.data = data, .offset = 40, .size = 8, .hops = 3});
  flow.push({.data = data, .offset = 0, .size = 8, .hops = 2});
  std::vector<std::uint64_t> order;
  EXPECT_EQ(flow.queued(), 32u);
  while (!flow.empty()) {
    order.push_back(flow.top().offset);
    flow.advance(4);
    order.push_back(flow.top().offset);
    flow.advance(4);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{40, 44, 200, 204, 0, 4, 100, 104}));
  EXPECT_EQ(flow.queued(), 0u);
}

/// Ids in an order that a few lanes can produce, in and out of order, against a set.
TEST(ReceivedSet, IsASetAndSaysSo) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    ReceivedSet received;
    std::set<std::uint64_t> model;
    std::vector<std::uint64_t> open;
    std::uint64_t next = 1;
    for (int i = 0; i < 5000; ++i) {
      while (open.size() < 1 + random() % 300) open.push_back(next++);
      const std::size_t which = random() % std::min<std::size_t>(open.size(), 1 + random() % 200);
      const std::uint64_t id = open[which];
      ASSERT_TRUE(received.acceptable(id));
      ASSERT_EQ(received.contains(id), false);
      received.add(id);
      received.add(id);
      model.insert(id);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      ASSERT_TRUE(received.contains(id));
      const AckRecord ack = received.ack();
      ASSERT_EQ(ack.below, open.empty() ? next : *std::min_element(open.begin(), open.end()));
      for (std::uint64_t bit = 0; bit < 128; ++bit)
        ASSERT_EQ((ack.bits[bit / 64] >> (bit % 64) & 1) != 0, model.count(ack.below + bit) != 0) << bit;
    }
  }
}

TEST(ReceivedSet, RefusesWhatNobodyCanHaveSent) {
  ReceivedSet received;
  EXPECT_FALSE(received.any());
  EXPECT_FALSE(received.acceptable(0));
  EXPECT_TRUE(received.acceptable(kIdWindow));
  EXPECT_FALSE(received.acceptable(kIdWindow + 1));
  received.add(1);
  EXPECT_TRUE(received.any());
  EXPECT_TRUE(received.acceptable(kIdWindow + 1));
  EXPECT_FALSE(received.acceptable(kIdWindow + 2));
  EXPECT_FALSE(received.acceptable(~std::uint64_t{0}));
}

TEST(RailLoad, HasRoomForAllItsLanes) {
  RailLoad rail;
  for (std::size_t lanes = 1; lanes <= 20; ++lanes) {
    rail.add_lane();
    EXPECT_GE(rail.loaded.capacity(), lanes);
  }
}

TEST(SentLog, GrowsAndKeepsItsPieces) {
  SentLog log;
  std::uint64_t added = 0;
  for (int round = 0; round < 50; ++round) {
    while (log.room()) {
      SentPiece& piece = log.add();
      ASSERT_EQ(piece.header.id, ++added);
      piece.header.offset = piece.header.id * 3;
    }
    for (std::uint64_t id = log.oldest(); id != log.next(); ++id) ASSERT_EQ(log.at(id).header.offset, id * 3);
    for (int i = 0; i < 700; ++i) log.pop();
    ASSERT_TRUE(log.room());
  }
  while (!log.empty()) log.pop();
  EXPECT_EQ(log.oldest(), added + 1);
}

}  // namespace
}  // namespace nezha
