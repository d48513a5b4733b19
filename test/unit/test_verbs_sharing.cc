// SPDX-License-Identifier: BSD-3-Clause
/// Pairs of a verbs rail that receive into the same slots, of a device that is not there.
#include "verbs_pairs_case.h"

namespace nezha::test {
namespace {

class SharingPairs : public VerbsPairs {
 protected:
  void SetUp() override {
    queues = {};
    queues.shares = true;
    VerbsPairs::SetUp();
    pairs_.let();
  }
  void TearDown() override {
    VerbsPairs::TearDown();
    EXPECT_EQ(queues.made, 0);
    queues = {};
  }
  /// One that is up.
  QueuePair& make() {
    clients_.push_back(connect_to_it());
    say(clients_.back(), Device::kHere);
    connected_ = false;
    EXPECT_TRUE(poll_until([&] { return connected_; }));
    return *arrived_.back();
  }
  /// A message of that many bytes has come for the newest pair.
  void complete(std::uint64_t request, std::uint32_t queue_pair, ibv_wc_status status = IBV_WC_SUCCESS) {
    ibv_wc completion{};
    completion.wr_id = request;
    completion.status = status;
    completion.byte_len = 40;
    completion.qp_num = queue_pair;
    queues.completed.push_back(completion);
    queues.posted.clear();
    kind_->poll(Watch::all, *this);
  }
  static constexpr std::uint32_t kFirst = 101;  ///< number of the first queue pair

  std::vector<Fd> clients_;
};

TEST_F(SharingPairs, HaveTheMoreReceivesTheFewerTheyAre) {
  const std::uint32_t all = VerbsOptions().shared_receives;
  EXPECT_EQ(make().shared_receives(), all);
  EXPECT_EQ(queues.posted.size(), all);
  EXPECT_EQ(make().shared_receives(), all / 2);
  EXPECT_EQ(arrived_[0]->shared_receives(), all / 2);
  EXPECT_EQ(queues.posted.size(), all) << "no more memory";
  arrived_.pop_back();
  EXPECT_EQ(arrived_[0]->shared_receives(), all);
}

TEST_F(SharingPairs, TakeAMessageFromASlotThatIsThenEverybodys) {
  QueuePair& pair = make();
  const std::uint64_t request = queues.posted[7];
  complete(request, kFirst);
  ASSERT_EQ(received_.size(), 1U);
  EXPECT_EQ(received_[0].second, 40U);
  EXPECT_EQ(pair.shared_slot(received_[0].first).size(), VerbsOptions().slot);
  EXPECT_TRUE(queues.posted.empty());
  ASSERT_TRUE(pair.post_receive(received_[0].first).ok());
  EXPECT_EQ(queues.posted, std::vector{request});
}

TEST_F(SharingPairs, StopOnceWhatCameForThemIsSeen) {
  make();
  const std::uint64_t request = queues.posted[3];
  arrived_.back()->close();
  EXPECT_EQ(pairs_.stopped(), 0);
  EXPECT_EQ(kind_->next_deadline(), 1);
  complete(request, kFirst);
  EXPECT_EQ(pairs_.stopped(), 1);
  EXPECT_EQ(queues.posted, std::vector{request});
}

TEST_F(SharingPairs, LeaveWhatCameForOneThatIsClosedToOthers) {
  make();
  const std::uint64_t request = queues.posted[3];
  arrived_.back()->close();
  complete(request, kFirst);
  EXPECT_TRUE(received_.empty());
  EXPECT_EQ(queues.posted, std::vector{request});
}

/// Nobody looks at completions while the process computes, until the pair is destroyed.
TEST_F(SharingPairs, LeaveAllThatCameToOthersBeforeTheyAreDestroyed) {
  make();
  const std::vector<std::uint64_t> all = queues.posted;
  arrived_.clear();
  kind_->poll(Watch::rare, *this);
  for (const std::uint64_t request : all) {
    ibv_wc completion{};
    completion.wr_id = request;
    completion.qp_num = kFirst;
    queues.completed.push_back(completion);
  }
  queues.posted.clear();
  linger_with(0);
  EXPECT_EQ(queues.posted, all);
}

TEST_F(SharingPairs, GiveTheSlotOfAnErrorBack) {
  make();
  const std::uint64_t request = queues.posted[3];
  complete(request, kFirst, IBV_WC_LOC_LEN_ERR);
  EXPECT_FALSE(why_.ok());
  EXPECT_EQ(queues.posted, std::vector{request});
}

/// Each that is closed may take a slot with it.
TEST_F(SharingPairs, GetNewSlotsOnceMuchMayBeLost) {
  const std::uint32_t all = VerbsOptions().shared_receives;
  for (std::uint32_t i = 0; i < all / 4; ++i) {
    EXPECT_EQ(queues.posted.size(), i == 0 ? 0 : all) << i;
    make();
    arrived_.clear();
  }
  make();
  EXPECT_EQ(queues.posted.size(), 2 * all);
  EXPECT_EQ(queues.made, 2) << "pairs that are not destroyed yet have the others";
  linger_with(1);
  EXPECT_EQ(queues.made, 1);
}

}  // namespace
}  // namespace nezha::test
