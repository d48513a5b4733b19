// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_notice.h"

#include <algorithm>
#include <deque>
#include <random>

#include "trunk_pair.h"

namespace nezha::test {
namespace {

RailAddress at(std::uint8_t last) {
  RailAddress address;
  address.transport = "verbs";
  address.name = "mlx5_0:1";
  address.device = "eth1";
  address.network = {std::byte{24}, std::byte{10}};
  address.place = std::vector<std::byte>(40, std::byte{last});
  address.speed_mbps = 100000;
  return address;
}

std::vector<PieceHeader> records_of(const RailNotice& notice, std::uint32_t number) {
  std::deque<PieceHeader> records;
  encode_notice(notice, number, [&]() -> PieceHeader& { return records.emplace_back(); });
  return {records.begin(), records.end()};
}

/// What the reader says of one record.
std::optional<RailNotice> taken(NoticeReader& reader, const PieceHeader& record) {
  std::optional<RailNotice> notice;
  const Status status = reader.take(record, notice);
  EXPECT_TRUE(status.ok()) << status.text();
  return notice;
}

TEST(RailNotice, ComesBackWhateverTheOrderOfItsParts) {
  RailAddress longest = at(1);
  longest.transport = longest.name = longest.device = std::string(kMaxRailWord, 'x');
  longest.network.resize(kMaxRailNetwork);
  longest.place.resize(kMaxRailPlace);
  std::mt19937 random(1);
  NoticeReader reader;
  std::uint32_t number = 0;
  for (const RailNotice& notice : {RailNotice{0, at(7)}, RailNotice{kMaxRails - 1, longest}, RailNotice{0, at(8)}}) {
    std::vector<PieceHeader> records = records_of(notice, ++number);
    EXPECT_LE(records.size(), kMaxNoticeParts);
    std::shuffle(records.begin(), records.end(), random);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::optional<RailNotice> back = taken(reader, records[i]);
      ASSERT_EQ(back.has_value(), i + 1 == records.size());
      if (back) {
        EXPECT_EQ(*back, notice);
      }
    }
  }
}

/// Lanes overtake one another.
TEST(RailNotice, OfTwoOfARailTheLaterOneCounts) {
  NoticeReader reader;
  const std::vector<PieceHeader> before = records_of({1, at(1)}, 1), now = records_of({1, at(2)}, 2), other = records_of({2, at(3)}, 3);
  taken(reader, before[0]);
  for (std::size_t i = 0; i + 1 < now.size(); ++i) EXPECT_FALSE(taken(reader, now[i]));
  for (std::size_t i = 1; i < before.size(); ++i) EXPECT_FALSE(taken(reader, before[i])) << "it is out of date";
  for (std::size_t i = 0; i + 1 < other.size(); ++i) EXPECT_FALSE(taken(reader, other[i]));
  EXPECT_EQ(taken(reader, now.back()), (RailNotice{1, at(2)}));
  EXPECT_EQ(taken(reader, other.back()), (RailNotice{2, at(3)})) << "each rail has its own";
  for (const PieceHeader& record : before) EXPECT_FALSE(taken(reader, record));
}

TEST(RailNotice, WhatCannotBeIsRefused) {
  const auto refused = [](std::uint64_t change) {
    NoticeReader reader;
    std::optional<RailNotice> notice;
    PieceHeader record = records_of({1, at(7)}, 1)[0];
    record.op ^= change;
    return reader.take(record, notice).code() == Code::bad_wire;
  };
  EXPECT_FALSE(refused(0));
  EXPECT_TRUE(refused(kMaxRails)) << "no such rail";
  EXPECT_TRUE(refused(std::uint64_t{63} << 8)) << "no such part";
  EXPECT_TRUE(refused(std::uint64_t{1} << 15 << 16)) << "too long";
  NoticeReader reader;
  std::optional<RailNotice> notice;
  std::vector<PieceHeader> records = records_of({1, at(7)}, 1);
  taken(reader, records[0]);
  records[1].op ^= std::uint64_t{1} << 16;
  EXPECT_EQ(reader.take(records[1], notice).code(), Code::bad_wire) << "another size";
  RailAddress nothing;
  EXPECT_EQ(reader.take(records_of({2, nothing}, 1)[0], notice).code(), Code::bad_wire) << "no transport";
}

TEST_F(TrunkPair, ANoticeArrivesThoughItsLaneDies) {
  open();
  a->trunk.tell_rail({1, at(9)});
  a->trunk.pump();
  for (std::size_t lane : {0, 1}) {
    if (a->lanes[lane]->frames.empty()) continue;
    a->lanes[lane]->frames.clear();
    a->lose(lane);
    b->lose(lane);
    a->raise(lane);
    b->raise(lane);
  }
  a->trunk.pump();
  carry_all();
  ASSERT_EQ(b->receiver.rails.size(), 1u);
  EXPECT_EQ(b->receiver.rails[0], (RailNotice{1, at(9)}));
}

TEST_F(TrunkPair, ABadNoticeClosesTheLane) {
  open();
  a->trunk.tell_rail({kMaxRails, at(9)});
  a->trunk.pump();
  carry_all();
  EXPECT_EQ(status.code(), Code::bad_wire);
  EXPECT_TRUE(b->receiver.rails.empty());
}

/// Lanes that hold bytes are known by their place, which one more lane may change.
TEST_F(TrunkPair, LanesBecomeMoreWhileOthersAreLoaded) {
  open(2);
  const Bytes source = pattern(200000);
  for (HandLane* lane : a->lanes) lane->beat.in_flight = 1;  // nothing is known to have left
  send(source);
  for (std::uint8_t rail = 2; rail < 4; ++rail) {
    a->trunk.add_lane(rail, rail, a->loads[rail]);
    b->trunk.add_lane(rail, rail, b->loads[rail]);
    a->lanes.push_back(nullptr);
    b->lanes.push_back(nullptr);
    a->raise(rail);
    b->raise(rail);
  }
  for (HandLane* lane : a->lanes) lane->beat.in_flight = 0;
  settle();
  EXPECT_TRUE(delivered(source));
  for (const RailLoad& load : a->loads) {
    EXPECT_TRUE(load.loaded.empty() || load.fill != 0);
    for (const LaneState* lane : load.loaded) EXPECT_EQ(lane->rail, &load);
  }
}

}  // namespace
}  // namespace nezha::test
