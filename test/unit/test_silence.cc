// SPDX-License-Identifier: BSD-3-Clause
/// How the silence of one lane's far end is judged from its pulse.
#include "trunk/silence.h"

#include <gtest/gtest.h>

namespace nezha::test {
namespace {

constexpr Nanoseconds kLook = 4 * kMillisecond;

class SilenceTest : public testing::Test {
 protected:
  void look(Nanoseconds time, LanePulse pulse) {
    for (const Nanoseconds end = now + time; now < end;) {
      now += kLook;
      pulse.heard += kLook;
      silence.look(pulse, answers, expected, elsewhere, now);
    }
  }

  Nanoseconds now = kSecond;
  Answers answers = Answers::transport;
  Nanoseconds expected = 0;
  bool elsewhere = false;
  Silence silence;
};

TEST_F(SilenceTest, IsSuspiciousAfterItsFloor) {
  look(20 * kMillisecond, {.delivered = 7, .in_flight = 100});
  EXPECT_FALSE(silence.suspicious());
  look(20 * kMillisecond, {.delivered = 7, .in_flight = 100});
  EXPECT_TRUE(silence.suspicious());
}

TEST_F(SilenceTest, IsNoneWhileAnythingIsAnswered) {
  for (std::uint64_t i = 0; i < 100; ++i) look(20 * kMillisecond, {.delivered = i, .in_flight = 100});
  EXPECT_FALSE(silence.suspicious());
}

TEST_F(SilenceTest, IsNoneWhileTheFarEndHoldsBack) {
  look(100 * kMillisecond, {.delivered = 7, .in_flight = 0});
  EXPECT_FALSE(silence.suspicious());
  look(20 * kMillisecond, {.delivered = 7, .in_flight = 100});
  EXPECT_FALSE(silence.suspicious());
}

/// What waits for its window asks for no answer, and no acknowledgement has to say so.
TEST_F(SilenceTest, EndsAtOnceWhenTheFarEndHoldsBack) {
  look(40 * kMillisecond, {.delivered = 7, .in_flight = 100});
  EXPECT_TRUE(silence.suspicious());
  look(kLook, {.delivered = 7, .in_flight = 0});
  EXPECT_EQ(silence.lasted(), 0);
}

/// Its process reads from another lane and not from this one: what opens the window was lost.
TEST_F(SilenceTest, OfAClosedWindowIsProvenByItsProcess) {
  look(8 * kSecond, {.delivered = 7, .held_back = true});
  EXPECT_FALSE(silence.suspicious()) << "the process may not run";
  elsewhere = true;
  look(900 * kMillisecond, {.delivered = 7, .held_back = true});
  EXPECT_FALSE(silence.suspicious());
  look(200 * kMillisecond, {.delivered = 7, .held_back = true});
  EXPECT_TRUE(silence.suspicious());
  look(kSecond, {.delivered = 7, .held_back = true});
  EXPECT_TRUE(silence.hopeless(true));
  EXPECT_TRUE(silence.goes_on({.delivered = 7, .held_back = true}));
  look(kLook, {.delivered = 8, .in_flight = 100});
  EXPECT_FALSE(silence.suspicious());
}

TEST_F(SilenceTest, IsNoneWhileTheWindowOpensNowAndThen) {
  elsewhere = true;
  for (int i = 0; i < 20; ++i) {
    look(300 * kMillisecond, {.delivered = 7, .held_back = true});
    look(kLook, {.delivered = 7, .in_flight = 100});
    EXPECT_FALSE(silence.suspicious());
  }
}

TEST_F(SilenceTest, WaitsAsLongAsTheQueueTakes) {
  expected = 300 * kMillisecond;
  look(300 * kMillisecond, {.delivered = 7, .in_flight = 100});
  EXPECT_FALSE(silence.suspicious());
  look(50 * kMillisecond, {.delivered = 7, .in_flight = 100});
  EXPECT_TRUE(silence.suspicious());
}

TEST_F(SilenceTest, WaitsAsLongAsAnAnswerUsuallyTakes) {
  look(60 * kMillisecond, {.delivered = 7, .in_flight = 100, .rtt = 50 * kMillisecond});
  EXPECT_FALSE(silence.suspicious());
  look(40 * kMillisecond, {.delivered = 7, .in_flight = 100, .rtt = 50 * kMillisecond});
  EXPECT_TRUE(silence.suspicious());
}

TEST_F(SilenceTest, TimeThatNobodyLookedDoesNotCount) {
  silence.look({.delivered = 7, .in_flight = 100}, answers, 0, false, now);
  silence.look({.delivered = 7, .in_flight = 100, .heard = 3 * kSecond}, answers, 0, false, now + 3 * kSecond);
  EXPECT_FALSE(silence.suspicious());
}

TEST_F(SilenceTest, IsHopelessOnlyWhenNothingAtAllIsHeard) {
  look(2 * kSecond, {.delivered = 7, .in_flight = 100});
  EXPECT_TRUE(silence.hopeless(true));
  EXPECT_FALSE(silence.hopeless(false));
  silence.look({.delivered = 7, .in_flight = 100, .heard = 0}, answers, 0, false, now + kLook);
  EXPECT_TRUE(silence.suspicious());
  EXPECT_FALSE(silence.hopeless(true));
}

TEST_F(SilenceTest, AMistakeMakesMorePatient) {
  look(40 * kMillisecond, {.delivered = 7, .in_flight = 100});
  EXPECT_TRUE(silence.suspicious());
  silence.forgive(now);
  look(40 * kMillisecond, {.delivered = 8, .in_flight = 100});
  EXPECT_FALSE(silence.suspicious());
  look(40 * kMillisecond, {.delivered = 8, .in_flight = 100});
  EXPECT_TRUE(silence.suspicious());
}

constexpr LanePulse kProcess{.delivered = 7, .in_flight = 100};

class SilenceOfAProcess : public SilenceTest {
 protected:
  SilenceOfAProcess() { answers = Answers::process; }
};

TEST_F(SilenceOfAProcess, CountsWhileItIsHeardElsewhere) {
  look(500 * kMillisecond, kProcess);
  EXPECT_FALSE(silence.suspicious()) << "it may stand still";
  EXPECT_TRUE(silence.needs_proof());
  elsewhere = true;
  look(20 * kMillisecond, kProcess);
  EXPECT_FALSE(silence.suspicious()) << "it has just come back";
  look(20 * kMillisecond, kProcess);
  EXPECT_TRUE(silence.suspicious());
  EXPECT_FALSE(silence.hopeless(true));
  look(600 * kMillisecond, kProcess);
  EXPECT_FALSE(silence.hopeless(true)) << "bytes came by it not long ago";
}

/// Two lanes to a process, each of which has just been asked something, would go on asking by each other for ever.
TEST_F(SilenceOfAProcess, NeedsNoProofBeforeAnAnswerIsDue) {
  expected = 20 * kMillisecond;
  look(16 * kMillisecond, kProcess);
  EXPECT_FALSE(silence.needs_proof());
  look(12 * kMillisecond, kProcess);
  EXPECT_TRUE(silence.needs_proof());
  answers = Answers::transport;
  look(12 * kMillisecond, kProcess);
  EXPECT_FALSE(silence.needs_proof()) << "it is no process";
}

TEST_F(SilenceOfAProcess, IsHopelessOnlyWhileThatRuns) {
  LanePulse pulse = kProcess;
  pulse.heard = 2 * kSecond;
  elsewhere = true;
  look(100 * kMillisecond, pulse);
  EXPECT_TRUE(silence.suspicious());
  elsewhere = false;
  look(3 * kSecond, pulse);
  EXPECT_FALSE(silence.hopeless(true)) << "it stands still";
  elsewhere = true;
  look(20 * kMillisecond, pulse);
  EXPECT_FALSE(silence.hopeless(true)) << "it runs again and may answer any moment";
  look(20 * kMillisecond, pulse);
  EXPECT_TRUE(silence.hopeless(true));
}

TEST_F(SilenceOfAProcess, IsSuspiciousInTheEndWithoutProof) {
  look(900 * kMillisecond, kProcess);
  EXPECT_FALSE(silence.suspicious());
  look(200 * kMillisecond, kProcess);
  EXPECT_TRUE(silence.suspicious());
  look(5 * kSecond, kProcess);
  EXPECT_FALSE(silence.hopeless(false));
}

TEST_F(SilenceOfAProcess, IsHopelessLaterWhereAllLanesAreSilent) {
  LanePulse pulse = kProcess;
  pulse.heard = 20 * kSecond;
  look(8 * kSecond, pulse);
  EXPECT_FALSE(silence.hopeless(false));
  look(3 * kSecond, pulse);
  EXPECT_TRUE(silence.hopeless(false));
}

}  // namespace
}  // namespace nezha::test
