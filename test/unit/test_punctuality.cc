// SPDX-License-Identifier: BSD-3-Clause
/// Whether what a lane was given leaves when it should.
#include <gtest/gtest.h>

#include "trunk/punctuality.h"

namespace nezha::test {
namespace {

using Verdict = Punctuality::Verdict;

constexpr std::size_t kPiece = 4096;
constexpr Nanoseconds kExpected = 100 * kMicrosecond;

class PunctualityTest : public testing::Test {
 protected:
  /// One piece, of which so much is left after that time. What was said of it.
  Verdict piece(Nanoseconds time, std::size_t left) {
    punctuality.expect(now, kExpected);
    now += time;
    const Verdict verdict = punctuality.looked(now, left);
    now += time;
    punctuality.looked(now, 0);
    return verdict;
  }

  Nanoseconds now = kSecond;
  Punctuality punctuality;
};

TEST_F(PunctualityTest, WhatHasLeftByThenIsInTime) {
  EXPECT_EQ(piece(kExpected, 0), Verdict::in_time);
  EXPECT_EQ(piece(3 * kMillisecond, 0), Verdict::none);  // nobody has looked when it left
}

TEST_F(PunctualityTest, OnceLateProvesNothing) {
  EXPECT_EQ(piece(3 * kMillisecond, kPiece), Verdict::none);
  EXPECT_EQ(piece(kExpected, 0), Verdict::in_time);
}

TEST_F(PunctualityTest, LateAgainAndAgainIsLate) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(piece(3 * kMillisecond, kPiece), Verdict::none);
  EXPECT_EQ(piece(3 * kMillisecond, kPiece), Verdict::late);
  EXPECT_EQ(piece(3 * kMillisecond, kPiece), Verdict::late);
}

TEST_F(PunctualityTest, InTimeBetweenIsNotLate) {
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(piece(3 * kMillisecond, kPiece), Verdict::none);
    if (i % 5 == 4) piece(kExpected, 0);
  }
}

TEST_F(PunctualityTest, TheLastSegmentsMayWaitForAnAnswer) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(piece(3 * kMillisecond, 2000), Verdict::none);
}

/// A packet was lost: 200 ms until it is sent again.
TEST_F(PunctualityTest, ALaneThatStandsStillIsNotLateAtEachLook) {
  for (int i = 0; i < 5; ++i) piece(3 * kMillisecond, kPiece);
  punctuality.expect(now, kExpected);
  int late = 0;
  for (int i = 0; i < 2000; ++i, now += 100 * kMicrosecond) late += punctuality.looked(now, kPiece) == Verdict::late;
  EXPECT_GT(late, 2);
  EXPECT_LT(late, 10);
}

TEST_F(PunctualityTest, WhatFollowsIsExpectedAfterWhatWasThere) {
  punctuality.expect(now, kExpected);
  const Nanoseconds first = punctuality.late_from();
  punctuality.expect(now + kExpected, 2 * kExpected);
  EXPECT_GT(punctuality.late_from(), first);
  punctuality.looked(now + kExpected, 0);
  EXPECT_EQ(punctuality.late_from(), 0);
}

}  // namespace
}  // namespace nezha::test
