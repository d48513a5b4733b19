// SPDX-License-Identifier: BSD-3-Clause
/// A far end that stops answering: suspected, which costs nothing but its pieces sent twice; forgiven or given up.
#include "trunk_pair.h"

namespace nezha::test {
namespace {

constexpr Nanoseconds kLook = 4 * kMillisecond;

class TrunkSilence : public TrunkPair {
 protected:
  /// A sends; one lane of it takes a piece, and its far end says nothing from then on.
  void send_into_silence(std::size_t lanes, std::size_t bytes = 64, double nominal = 0) {
    open(lanes);
    for (RailLoad& load : a->loads) load.nominal = nominal;
    source = pattern(bytes);
    for (HandLane* lane : a->lanes) lane->beat.in_flight = bytes;  // nothing leaves meanwhile
    send(source);
    for (HandLane* lane : a->lanes) lane->beat = {};
    silent = a->lanes[0]->frames.empty() ? 1 : 0;
    other = 1 - silent;
    hush(silent);
  }
  void hush(std::size_t lane) { a->lanes[lane]->beat = {.delivered = 1, .in_flight = 100}; }
  void listen(Nanoseconds time) {
    for (Nanoseconds spent = 0; spent < time; spent += kLook) {
      clock.advance(kLook);
      for (HandLane* lane : a->lanes) lane->beat.heard += kLook;
      a->trunk.listen(clock.now());
    }
  }

  Bytes source;
  std::size_t silent = 0, other = 1;
};

TEST_F(TrunkSilence, PiecesOfASuspectGoElsewhereWhileItStaysOpen) {
  send_into_silence(2);
  listen(60 * kMillisecond);
  EXPECT_EQ(a->receiver.suspected, std::vector<int>{static_cast<int>(silent)});
  EXPECT_EQ(a->loads[silent].suspicions, 1u);
  EXPECT_FALSE(a->lanes[silent]->dead);
  ASSERT_EQ(a->lanes[other]->frames.size(), 1u);
  carry_all();  // both, the late one too
  EXPECT_TRUE(delivered(source));
  EXPECT_EQ(b->receiver.total, source.size());
}

/// An answer cannot come before what was asked has left, and a slow lane takes long for that: for half of it here.
TEST_F(TrunkSilence, IsNoneWhileWhatWasSentIsStillLeaving) {
  constexpr double kSlow = 8000.0 / (200 * kMillisecond);
  send_into_silence(2, 2 * 8000, kSlow);
  listen(190 * kMillisecond);
  EXPECT_TRUE(a->receiver.suspected.empty());
  listen(60 * kMillisecond);
  EXPECT_EQ(a->receiver.suspected, std::vector<int>{static_cast<int>(silent)});
}

TEST_F(TrunkSilence, AFarEndThatHoldsBackIsNoSuspect) {
  send_into_silence(2);
  listen(28 * kMillisecond);
  EXPECT_TRUE(a->receiver.suspected.empty());
  a->lanes[silent]->beat.in_flight = 0;  // at the last moment
  listen(100 * kMillisecond);
  EXPECT_TRUE(a->receiver.suspected.empty());
}

/// A pulse is a system call, and most lanes of a large job have nothing under way.
TEST_F(TrunkSilence, OnlyLanesWithSomethingUnderWayAreAsked) {
  send_into_silence(2);
  listen(20 * kMillisecond);
  EXPECT_EQ(a->lanes[silent]->asked, 5);
  EXPECT_EQ(a->lanes[other]->asked, 0);
}

TEST_F(TrunkSilence, AnotherLaneIsOfUseOnlyAsLongAsOneSaysNothing) {
  send_into_silence(2);
  const auto wanted = [&](std::size_t lane) { return a->trunk.wants_lane(static_cast<std::uint8_t>(lane), static_cast<std::uint8_t>(lane)); };
  listen(12 * kMillisecond);
  EXPECT_FALSE(wanted(silent)) << "it is not suspicious yet";
  listen(60 * kMillisecond);
  EXPECT_TRUE(wanted(silent));
  EXPECT_FALSE(wanted(other));
  EXPECT_FALSE(wanted(3)) << "there is to be none";
  a->lanes[silent]->beat.delivered += 1;
  EXPECT_FALSE(wanted(silent)) << "it has just answered";
  a->lose(silent);
  EXPECT_TRUE(wanted(silent));
}

TEST_F(TrunkSilence, ASuspectGetsNothingNew) {
  send_into_silence(2);
  listen(60 * kMillisecond);
  const std::size_t before = a->lanes[silent]->frames.size();
  const Bytes more = pattern(50000);
  send(more, 4096);
  EXPECT_EQ(a->lanes[silent]->frames.size(), before);
}

TEST_F(TrunkSilence, AcksOfASuspectGoElsewhere) {
  open(2);
  source = pattern(64);
  Flow back;
  back.open(1, 1, 4);
  back.begun = true;
  b->trunk.send(back, {.data = source.data(), .size = static_cast<std::uint32_t>(source.size())});
  carry_all();
  ASSERT_TRUE(a->trunk.send_acks());
  silent = a->lanes[0]->frames.empty() ? 1 : 0;
  a->lanes[silent]->frames.clear();
  hush(silent);
  listen(60 * kMillisecond);
  carry_all();
  EXPECT_FALSE(b->trunk.outstanding());
}

TEST_F(TrunkSilence, AHalfSentFrameIsReadNoMore) {
  open(2);
  for (HandLane* lane : a->lanes) lane->stuck = true;
  source = pattern(64);
  send(source);
  silent = a->lanes[0]->busy() ? 0 : 1;
  hush(silent);
  a->lanes[1 - silent]->stuck = false;
  listen(60 * kMillisecond);
  EXPECT_EQ(a->lanes[silent]->owned, 1);
}

TEST_F(TrunkSilence, WhoSpeaksIsForgiven) {
  send_into_silence(2);
  listen(60 * kMillisecond);
  a->lanes[silent]->beat = {};
  listen(kLook);
  EXPECT_EQ(a->receiver.forgiven, std::vector<int>{static_cast<int>(silent)});
  EXPECT_EQ(a->loads[silent].suspects, 0u);
  listen(5 * kSecond);
  EXPECT_TRUE(a->receiver.lost.empty());
}

/// Where shares are fixed, what the other lane carried meanwhile is not owed.
TEST_F(TrunkSilence, WhoIsForgivenHasNothingToMakeUpFor) {
  send_into_silence(2);
  for (RailLoad& rail : a->loads) rail.weight = 1;
  a->trunk.add_lane(2, 2, a->loads[2]);
  listen(60 * kMillisecond);
  ASSERT_EQ(a->receiver.suspected.size(), 1U);
  const Bytes much = pattern(1 << 19);
  send(much);
  carry_all();
  a->lanes[silent]->beat = {.delivered = 2};
  listen(kLook);
  ASSERT_EQ(a->receiver.forgiven.size(), 1U);
  send(much);
  EXPECT_GT(a->lanes[other]->given(), much.size() / 3);
  EXPECT_GT(a->lanes[silent]->given(), much.size() / 3);
}

TEST_F(TrunkSilence, WhoNeverSpeaksIsClosed) {
  send_into_silence(2);
  listen(2 * kSecond);
  EXPECT_TRUE(a->lanes[silent]->dead);
  ASSERT_EQ(a->receiver.lost.size(), 1u);
  EXPECT_NE(a->receiver.lost[0].find("no answer"), std::string::npos);
}

TEST_F(TrunkSilence, OfAllLanesAtOnceIsNoSuspicion) {
  open(2);
  source = pattern(200000);
  send(source);
  hush(0);
  hush(1);
  listen(kSecond);
  EXPECT_TRUE(a->receiver.suspected.empty());
  EXPECT_TRUE(a->receiver.lost.empty());
}

TEST_F(TrunkSilence, ASuspectIsBetterThanNobody) {
  send_into_silence(2);
  listen(60 * kMillisecond);
  a->lanes[other]->frames.clear();
  a->lose(other);
  a->trunk.pump();
  EXPECT_GE(a->lanes[silent]->frames.size(), 2u);
}

TEST_F(TrunkSilence, ANewConnectionReplacesTheOld) {
  open(2);
  HandLane* old = a->lanes[0];
  a->raise(0);
  EXPECT_TRUE(old->dead);
  ASSERT_EQ(a->receiver.lost.size(), 1u);
  EXPECT_EQ(a->trunk.lanes_up(), 2u);
  EXPECT_EQ(a->loads[0].lanes_up, 1u);
}

TEST_F(TrunkSilence, ThePeerHearsOfAClosedLaneByAnother) {
  open(2);
  a->lose(0);
  a->trunk.pump();
  EXPECT_EQ(b->trunk.lanes_up(), 2u);
  EXPECT_TRUE(carry(*a, *b, 1));
  EXPECT_EQ(b->trunk.lanes_up(), 1u);
  EXPECT_TRUE(b->lanes[0]->dead);
}

/// The peer may have been without another lane when the last one ended.
TEST_F(TrunkSilence, ThePeerHearsOfAClosedLaneByTheNextThatComesUp) {
  open(2);
  a->lose(1);
  b->lose(1);
  a->lose(0);
  EXPECT_EQ(b->trunk.lanes_up(), 1u);
  a->raise(1);
  b->raise(1);
  a->trunk.pump();
  carry_all();
  EXPECT_TRUE(b->lanes[0]->dead);
  EXPECT_EQ(b->trunk.lanes_up(), 1u);
  a->raise(0);
  b->raise(0);
  carry_all();
  EXPECT_EQ(a->trunk.lanes_up(), 2u);
  EXPECT_EQ(b->trunk.lanes_up(), 2u);
}

/// The far end of each lane is the other process.
class SilentProcess : public TrunkSilence {
 protected:
  /// Frames that came out of `from` on a lane that is not silent arrive, now.
  void carry_others(End& from, End& to) {
    while (carry(from, to, other)) {}
  }
  /// B answers at once, as far as it can: nothing comes through the silent lane.
  void listen_while_it_runs(Nanoseconds time) {
    for (Nanoseconds spent = 0; spent < time; spent += kLook) {
      listen(kLook);
      carry_others(*a, *b);
      b->trunk.pump();
      carry_others(*b, *a);
    }
  }
  void send_to_process() {
    send_into_silence(2);
    a->lanes[silent]->answering = Answers::process;
  }
};

TEST_F(SilentProcess, IsNoSuspectWhileItMayStandStill) {
  send_to_process();
  listen(900 * kMillisecond);
  EXPECT_TRUE(a->receiver.suspected.empty());
  EXPECT_LE(a->lanes[other]->frames.size(), 5u) << "it is asked for a sign of life ever more rarely";
}

TEST_F(SilentProcess, IsSuspectedWhereItAnswersByAnotherLane) {
  send_to_process();
  listen_while_it_runs(100 * kMillisecond);
  EXPECT_EQ(a->receiver.suspected, std::vector<int>{static_cast<int>(silent)});
  EXPECT_FALSE(a->lanes[silent]->dead);
  listen_while_it_runs(2 * kSecond);
  EXPECT_TRUE(a->lanes[silent]->dead);
  EXPECT_FALSE(a->lanes[other]->dead);
  EXPECT_TRUE(delivered(source));
}

/// Only a lane that is not silent itself can bring proof.
TEST_F(SilentProcess, IsNotAskedByTheSilentLane) {
  send_to_process();
  const std::size_t frames = a->lanes[silent]->frames.size();
  listen(200 * kMillisecond);
  EXPECT_EQ(a->lanes[silent]->frames.size(), frames);
  EXPECT_GE(a->lanes[other]->frames.size(), 1u);
}

TEST_F(SilentProcess, ThatStoodStillIsNoSuspectWhenItGoesOn) {
  send_to_process();
  listen(800 * kMillisecond);
  listen_while_it_runs(16 * kMillisecond);
  a->lanes[silent]->beat.in_flight = 0;
  listen_while_it_runs(100 * kMillisecond);
  EXPECT_TRUE(a->receiver.suspected.empty());
}

class SignsOfLife : public TrunkPair {
 protected:
  Nanoseconds ask(Nanoseconds time) {
    Nanoseconds quiet = 0;
    for (Nanoseconds spent = 0; spent < time; spent += 100 * kMillisecond) {
      clock.advance(100 * kMillisecond);
      quiet = a->trunk.quiet(clock.now(), kSecond);
    }
    return quiet;
  }
};

TEST_F(SignsOfLife, AreCountedFromTheLastOne) {
  open(1);
  EXPECT_GE(ask(3 * kSecond), 2 * kSecond);
  settle();
  EXPECT_LT(ask(100 * kMillisecond), kSecond);
}

/// The other process may have lost its end of the lane with the question unread: only a new one finds out.
TEST_F(SignsOfLife, AreAskedForAgainAndEverMoreRarely) {
  open(1);
  ask(kSecond / 2);
  EXPECT_TRUE(a->lanes[0]->frames.empty());
  ask(kSecond);
  EXPECT_EQ(a->lanes[0]->frames.size(), 1u);
  ask(30 * kSecond);
  EXPECT_GE(a->lanes[0]->frames.size(), 3u);
  EXPECT_LE(a->lanes[0]->frames.size(), 6u);
}

TEST_F(SignsOfLife, AreGivenAtOnceByAPeerThatIsNeverIdle) {
  open(1);
  ask(2 * kSecond);
  carry_all();  // nobody sends acks that are not due
  EXPECT_LT(ask(100 * kMillisecond), kSecond);
}

TEST_F(SignsOfLife, AreAskedForWhatEverElseIsUnderWay) {
  open(1);
  const Bytes source = pattern(64);
  send(source);
  carry_all();
  ask(2 * kSecond);
  carry_all();
  EXPECT_LT(ask(100 * kMillisecond), kSecond);
}

TEST_F(SignsOfLife, AreNotMissedBySomebodyWhoDidNotAsk) {
  open(1);
  ask(kSecond);
  clock.advance(3600 * kSecond);
  EXPECT_EQ(a->trunk.quiet(clock.now(), kSecond), 0);
}

/// The machine stood still, and the peer's answer with it.
TEST_F(SignsOfLife, AreNotMissedInATimeInWhichNobodyLooked) {
  open(1);
  ask(200 * kMillisecond);
  clock.advance(900 * kMillisecond);
  EXPECT_LE(a->trunk.quiet(clock.now(), kSecond), 400 * kMillisecond);
  EXPECT_GE(ask(kSecond), kSecond) << "it is counted on from there";
}

/// Nobody may look at the peer's acks meanwhile.
TEST_F(SignsOfLife, AreGivenForAsLongAsItTakes) {
  constexpr std::size_t kTimes = 5000;  // more than there are ids without an ack
  open(1);
  for (std::size_t i = 0; i < kTimes; ++i) b->trunk.show_life();
  EXPECT_EQ(b->lanes[0]->frames.size(), kTimes);
  EXPECT_TRUE(b->trunk.may_tell());
  EXPECT_GE(ask(3 * kSecond), 2 * kSecond);
  ASSERT_TRUE(carry(*b, *a, 0));
  EXPECT_EQ(ask(100 * kMillisecond), 0);
}

/// Lanes by which a process answers in calls only: that it computes is no sign of its death. One other lane is enough.
TEST_F(SignsOfLife, AreNotMissedWhereNobodyCanGiveThem) {
  open(2);
  for (HandLane* lane : a->lanes) lane->answering = Answers::call;
  EXPECT_EQ(ask(100 * kSecond), 0);
  a->lanes[1]->answering = Answers::transport;
  EXPECT_GE(ask(3 * kSecond), 2 * kSecond);
}

TEST_F(SignsOfLife, WhoGivesUpTellsThePeer) {
  open(1);
  const Failure failure{Failure::Why::differs, 7, 0xffffffff, (std::uint64_t{1} << 56) - 1, 0xfffffffe};
  a->trunk.tell_failed(1, 0, failure);
  carry_all();
  EXPECT_EQ(b->receiver.failures, std::vector<Failure>{failure});
}

TEST(Failures, OfAnUnknownKindAreRefused) {
  PieceHeader record;
  Failure failure{Failure::Why::gone, 1, 2, 3, 4}, back;
  encode_failure(failure, record);
  ASSERT_TRUE(decode_failure(record, back).ok());
  EXPECT_EQ(back, failure);
  record.op += std::uint64_t{1} << 56;
  EXPECT_EQ(decode_failure(record, back).code(), Code::bad_wire);
}

}  // namespace
}  // namespace nezha::test
