// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/rail_notice.h"

#include "trunk_pair.h"

namespace nezha::test {
namespace {

RailAddress at(std::uint8_t last, std::uint16_t port) {
  return {"tcp", "eth1", 4, {10, 11, 0, last}, 24, port, 1000};
}

RailAddress six() {
  RailAddress address{"tcp", "eth1", 6, {}, 64, 65535, 0};
  for (std::size_t i = 0; i < 16; ++i) address.address[i] = static_cast<std::uint8_t>(0xf0 + i);
  return address;
}

PieceHeader record_of(const RailNotice& notice) {
  PieceHeader record;
  encode_notice(notice, record);
  return record;
}

TEST(RailNotice, ComesBack) {
  for (const RailNotice& notice : {notice_of(0, at(7, 1)), notice_of(kMaxRails - 1, six())}) {
    RailNotice back;
    const Status status = decode_notice(record_of(notice), back);
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(back, notice);
  }
}

TEST(RailNotice, WhatCannotBeIsRefused) {
  const auto refused = [](auto change) {
    RailNotice notice = notice_of(1, at(7, 5000)), back;
    PieceHeader record;
    change(notice);
    encode_notice(notice, record);
    return decode_notice(record, back).code() == Code::bad_wire;
  };
  EXPECT_FALSE(refused([](RailNotice&) {}));
  EXPECT_TRUE(refused([](RailNotice& notice) { notice.rail = kMaxRails; }));
  EXPECT_TRUE(refused([](RailNotice& notice) { notice.family = 5; }));
  EXPECT_TRUE(refused([](RailNotice& notice) { notice.prefix = 33; }));
  EXPECT_TRUE(refused([](RailNotice& notice) { notice.address[4] = 1; }));
  EXPECT_TRUE(refused([](RailNotice& notice) { notice.port = 0; }));
  RailNotice back;
  PieceHeader record = record_of(notice_of(1, at(7, 5000)));
  record.op |= std::uint64_t{1} << 40;
  EXPECT_EQ(decode_notice(record, back).code(), Code::bad_wire);
}

TEST_F(TrunkPair, ANoticeArrivesThoughItsLaneDies) {
  open();
  a->trunk.tell_rail(notice_of(1, at(9, 4711)));
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
  EXPECT_EQ(b->receiver.rails[0], notice_of(1, at(9, 4711)));
}

TEST_F(TrunkPair, ABadNoticeClosesTheLane) {
  open();
  RailNotice notice = notice_of(1, at(9, 4711));
  notice.family = 9;
  a->trunk.tell_rail(notice);
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
