// SPDX-License-Identifier: BSD-3-Clause
/// Who gets a lane over whole messages, how long that may take, and how many may wait for it.
#include "message_pair.h"

namespace nezha::test {
namespace {

using MessageAdmission = MessagePair;

TEST_F(MessageAdmission, AStrangerWithoutTheSecretIsRefused) {
  b.secret_bytes.fill(8);
  connect();
  ASSERT_TRUE(drive([&] { return a.failed.size() == 1; }, a, b));
  EXPECT_NE(a.failures[0].find("does not know the job's secret"), std::string::npos) << a.failures[0];
  settle(a, b);
  EXPECT_TRUE(a.lanes.empty());
  EXPECT_TRUE(b.lanes.empty());
}

TEST_F(MessageAdmission, AConnectionThatNobodyAnswersEndsInTime) {
  fabric.silent = true;
  connect(kSecond);
  settle(a, b);
  EXPECT_TRUE(a.failed.empty());
  clock.advance(2 * kSecond);
  ASSERT_TRUE(drive([&] { return a.failed.size() == 1; }, a, b));
  EXPECT_NE(a.failures[0].find("no answer within the time"), std::string::npos) << a.failures[0];
  clock.advance(options.handshake_timeout);
  settle(a, b);
  EXPECT_TRUE(kinds[1]->pairs.empty());
}

TEST_F(MessageAdmission, AProcessHasAWhileOnceItsKernelHasAnswered) {
  fabric.tells_kernels = true;
  connect(80 * kMillisecond);
  a.transport->progress(Watch::all);
  clock.advance(options.admission_time - kMillisecond);
  a.transport->progress(Watch::all);
  EXPECT_TRUE(a.failed.empty());
  EXPECT_TRUE(drive([&] { return !a.lanes.empty() && !b.lanes.empty(); }, a, b));
}

TEST_F(MessageAdmission, SoManyMayWaitForAdmissionAndNoMore) {
  fabric.silent = true;
  for (std::size_t i = 0; i < options.pending_per_rail + 10; ++i) connect();
  settle(a, b);
  EXPECT_EQ(kinds[1]->pairs.size(), options.pending_per_rail);
}

TEST_F(MessageAdmission, WhoHasGreetedIsNotPushedOutByTheSilent) {
  constexpr std::uint64_t kGreeted = 1;
  constexpr std::size_t kTooMany = 10;
  a.transport->connect({b.self, 0, 0, false, 0, kGreeted}, 0, b.transport->rails()[0], clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return fabric.posts == 2; }, a, b)) << "HELLO and CHALLENGE";
  fabric.silent = true;
  for (std::size_t i = 1; i < options.pending_per_rail + kTooMany; ++i) connect();
  settle(a, b);
  fabric.silent = false;
  ASSERT_TRUE(drive([&] { return a.failed.size() == kTooMany; }, a, b));
  for (const LaneSpec& spec : a.failed) EXPECT_NE(spec.attempt, kGreeted);
}

TEST_F(MessageAdmission, ALaneNobodyExpectsIsRefused) {
  b.refuse = [](const LaneSpec&) { return true; };
  connect();
  ASSERT_TRUE(drive([&] { return a.failed.size() == 1; }, a, b));
  EXPECT_TRUE(b.logged("no such lane is expected"));
}

}  // namespace
}  // namespace nezha::test
