// SPDX-License-Identifier: BSD-3-Clause
/// A rail of libfabric over connected endpoints, whose provider is the test.
#include <array>

#include "fake_msg_ofi.h"
#include "rail/ofi/msg_rail.h"
#include "rdm_end.h"

namespace nezha::test {
namespace {

class MsgRailTest : public testing::Test, protected MessageArrivals {
 protected:
  MsgRailTest() { EXPECT_TRUE(rail.open().ok()); }

  void arrived(std::size_t, std::unique_ptr<QueuePair> pair, std::string) override {
    ends.push_back(std::make_unique<RdmEnd>(std::move(pair)));
  }
  RdmEnd& connect() {
    const std::array<std::byte, 16> remote{};
    std::unique_ptr<QueuePair> pair;
    EXPECT_TRUE(rail.connect(remote, pair).ok());
    arrived(0, std::move(pair), {});
    return *ends.back();
  }
  void poll() { rail.poll(Watch::all, *this); }

  FakeMsgOfi ofi;
  MsgRail rail{ofi.library, 0, ofi.info()};
  std::vector<std::unique_ptr<RdmEnd>> ends;
};

/// Each end checks that its endpoint opens.
TEST_F(MsgRailTest, ManyLanesHaveRoomInTheQueueOfCompletions) {
  for (int i = 0; i < 15; ++i) {
    connect();
    ofi.call();
    rail.poll(Watch::rare, *this);
  }
  EXPECT_EQ(ends.size(), 30U);
  EXPECT_EQ(ofi.taken, 30 * 2 * RdmEnd::kSlots);
}

TEST_F(MsgRailTest, AnErrorOfItsCompletionsBreaksItsPairs) {
  RdmEnd &one = connect(), &other = connect();
  poll();
  EXPECT_TRUE(one.why.ok());
  ofi.read_answer = -FI_EIO;
  poll();
  for (const RdmEnd* end : {&one, &other}) EXPECT_EQ(end->why.text(), "fi_cq_read: a reason");
}

TEST_F(MsgRailTest, ASleeperIsKeptAwakeByWhatThereIsToDoAlone) {
  RdmEnd& end = connect();
  EXPECT_TRUE(rail.may_sleep(Watch::all));
  ofi.wait_answer = -FI_EAGAIN;
  EXPECT_FALSE(rail.may_sleep(Watch::all));
  poll();
  EXPECT_TRUE(end.why.ok());
  ofi.wait_answer = -FI_EINVAL;
  EXPECT_FALSE(rail.may_sleep(Watch::all)) << "its pair is to be told";
  poll();
  EXPECT_EQ(end.why.text(), "fi_trywait: a reason");
  EXPECT_TRUE(rail.may_sleep(Watch::all));
}

}  // namespace
}  // namespace nezha::test
