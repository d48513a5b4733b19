// SPDX-License-Identifier: BSD-3-Clause
/// Rails lost in the middle of an operation, one kind of loss at a time, in virtual time: the result has the right bits,
/// nothing is written or read after its time (the world checks all that), and nobody waits longer than there is reason to.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../unit/slowed_down.h"
#include "scenario.h"

namespace nezha::test {
namespace {

// ---- every algorithm, in place or not, at any moment, every kind of loss

using Kind = std::function<void(World&)>;

const std::vector<std::pair<const char*, Kind>> kKinds = {
    {"Carrier", [](World& world) { world.faults().outage(1, 0, kForEver); }},
    {"Silence", [](World& world) { world.faults().silence(1, 0, Way::both, kForEver); }},
    {"SilenceOut", [](World& world) { world.faults().silence(1, 0, Way::out, kForEver); }},
    {"SilenceIn", [](World& world) { world.faults().silence(1, 0, Way::in, kForEver); }},
    {"Deletion", [](World& world) { world.faults().recreation(1, 0, kForEver); }},
    {"Errors",
     [](World& world) {
       for (std::size_t lane = 0; lane < world.process(1).transport().lanes(); ++lane)
         if (world.process(1).transport().on(lane, 0)) world.faults().break_lane(1, lane, lane % 2 == 0, 50 * kMillisecond);
     }},
    {"BothSides",
     [](World& world) {
       for (int rank = 0; rank < ranks_of(world); ++rank) world.faults().outage(rank, 0, kForEver);
     }},
    {"BothSidesSilent",
     [](World& world) {
       for (int rank = 0; rank < ranks_of(world); ++rank) world.faults().silence(rank, 0, Way::both, kForEver);
     }},
};

/// How long a call takes when nothing is lost.
struct Calm {
  Nanoseconds both = 0;  ///< over both rails
  Nanoseconds one = 0;   ///< over one
};

Calm calm(const Scenario& scenario) {
  static std::map<std::pair<AlgorithmChoice, bool>, Calm> known;  // all kinds of losses ask for the same
  Calm& found = known[{scenario.algorithm, scenario.in_place}];
  if (found.both == 0) {
    Scenario alone = scenario;
    alone.rails = 1;
    found = {play(scenario, {}).took[1], play(alone, {}).took[1]};
  }
  return found;
}

class EveryPhase : public testing::TestWithParam<std::tuple<AlgorithmChoice, bool, std::size_t>> {};

TEST_P(EveryPhase, LosesARail) {
  const auto [algorithm, in_place, kind] = GetParam();
  Scenario scenario;
  scenario.algorithm = algorithm;
  scenario.in_place = in_place;
  const bool whole = algorithm == AlgorithmChoice::single_step || algorithm == AlgorithmChoice::doubling;
  scenario.bytes = whole ? 24 * 1024 : 512 * 1024;
  if (whole) scenario.rate = 0.005;
  const auto [both, one] = calm(scenario);
  std::vector<double> phases = {0.02, 0.2, 0.4, 0.6, 0.8, 0.95};
  if (in_a_hurry()) phases = {in_place ? 0.6 : 0.02};
  for (const double phase : phases) {
    const auto when = static_cast<Nanoseconds>(phase * static_cast<double>(both));
    const Story story = play(scenario, {{1, when, kKinds[kind].second}});
    EXPECT_EQ(story.failure, "") << "at " << phase;
    EXPECT_LT(story.took[1], one + 100 * kMillisecond) << "at " << phase;
  }
}

std::string name_of(const testing::TestParamInfo<EveryPhase::ParamType>& drawn) {
  const auto [algorithm, in_place, kind] = drawn.param;
  constexpr const char* kNames[] = {"", "Ring", "Mesh", "SingleStep", "Doubling", "Halving"};
  return std::string(kNames[static_cast<int>(algorithm)]) + (in_place ? "InPlace" : "") + kKinds[kind].first;
}

INSTANTIATE_TEST_SUITE_P(Failover, EveryPhase,
                         testing::Combine(testing::Values(AlgorithmChoice::ring, AlgorithmChoice::mesh,
                                                          AlgorithmChoice::single_step, AlgorithmChoice::doubling,
                                                          AlgorithmChoice::halving),
                                          testing::Bool(), testing::Range<std::size_t>(0, kKinds.size())),
                         name_of);

// ---- of the rails that a table says are to be used

std::uint64_t sent_by(World& world, std::size_t rail) {
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < ranks_of(world); ++rank) bytes += world.process(rank).core().loads()[rail].bytes_sent;
  return bytes;
}

TEST(WantedRails, CarryEverythingAndTheOthersNothing) {
  Scenario scenario;
  scenario.rails = 3;
  for (const RailSet wanted : {only(1), static_cast<RailSet>(only(0) | only(2))}) {
    scenario.keeps_to = wanted;
    std::array<std::uint64_t, 3> before{}, after{};
    const auto look = [](std::array<std::uint64_t, 3>& into) {
      return [&into](World& world) {
        for (std::size_t rail = 0; rail < 3; ++rail) into[rail] = sent_by(world, rail);
      };
    };
    EXPECT_EQ(play(scenario, {{1, 0, look(before)}, {2, 0, look(after)}}).failure, "");
    for (std::size_t rail = 0; rail < 3; ++rail) EXPECT_EQ(after[rail] - before[rail] > scenario.bytes / 2, has(wanted, rail)) << rail;
  }
}

TEST(WantedRails, AreDoneWithoutWhenTheyAreLost) {
  for (const auto algorithm : {AlgorithmChoice::ring, AlgorithmChoice::mesh}) {
    Scenario scenario;
    scenario.algorithm = algorithm;
    scenario.bytes = 512 * 1024;
    scenario.keeps_to = only(0);
    scenario.calls = 8;
    const Nanoseconds usual = play(scenario, {}).took[1];
    for (const auto& [name, lose] : kKinds) {
      for (const double phase : in_a_hurry() ? std::vector{0.6} : std::vector{0.1, 0.6}) {
        const Story story = play(scenario, {{1, static_cast<Nanoseconds>(phase * static_cast<double>(usual)), lose}});
        EXPECT_EQ(story.failure, "") << name << " at " << phase;
        EXPECT_LT(story.took[1], 2 * usual + 100 * kMillisecond) << name << " at " << phase;
        EXPECT_LT(story.took[7], 2 * usual) << name << " at " << phase << ": nobody waits for what is known to be lost";
      }
    }
  }
}

TEST(WantedRails, AreUsedAgainWhenTheyAreBack) {
  Scenario scenario;
  scenario.keeps_to = only(0);
  scenario.calls = 4;
  scenario.thought = 10 * kSecond;
  std::uint64_t before = 0, after = 0;
  const Story story = play(scenario, {{1, kMillisecond, [](World& world) { world.faults().outage(1, 0, 50 * kMillisecond); }},
                                      {3, 0, [&](World& world) { before = sent_by(world, 1); }},
                                      {3, 20 * kMillisecond, [&](World& world) { after = sent_by(world, 1); }}});
  EXPECT_EQ(story.failure, "");
  EXPECT_LT(after - before, scenario.bytes / 16);
}

// ---- of a node with several ranks

Scenario two_per_node() {
  Scenario scenario;
  scenario.per_node = 2;
  scenario.timeout = 5;
  return scenario;
}

/// Of ranks 2 and 3.
void lose_a_rail_of_the_second_node(World& world, std::size_t rail) {
  for (const int rank : {2, 3}) world.faults().outage(rank, rail, kForEver);
}

TEST(RanksOfANode, NeedNoRailToReachEachOther) {
  for (const std::size_t rail : {0, 1}) {
    const auto lose = [rail](World& world) { lose_a_rail_of_the_second_node(world, rail); };
    const Story story = play(two_per_node(), {{1, kMillisecond, lose}});
    EXPECT_EQ(story.failure, "") << rail;
    EXPECT_EQ(story.lanes_lost, 2 * 2 * 2u) << "both ends of what led to the other node over rail " << rail;
  }
}

TEST(RanksOfANode, UseAllRailsWhereTheLoopbackFails) {
  for (const std::size_t rail : {0, 1}) {
    const auto lose = [rail](World& world) { lose_a_rail_of_the_second_node(world, rail); };
    const auto break_loopbacks = [](World& world) {
      for (int rank = 0; rank < ranks_of(world); ++rank) world.loopback(rank)->destroy();
    };
    const Story story = play(two_per_node(), {{kBeforeAllCalls, 0, break_loopbacks}, {1, kMillisecond, lose}});
    EXPECT_EQ(story.failure, "") << rail;
    EXPECT_EQ(story.lanes_lost, 2 * 2 * 2 + 2u) << rail;
  }
}

// ---- several at once

TEST(Failover, ThreeOfFourRailsDieAtOnce) {
  for (const bool silent : {false, true}) {
    Scenario scenario;
    scenario.rails = 4;
    const Story story = play(scenario, {{1, kMillisecond, [&](World& world) {
                                           for (int rank = 0; rank < ranks_of(world); ++rank)
                                             for (std::size_t port = 0; port < 3; ++port)
                                               silent ? world.faults().silence(rank, port, Way::both, kForEver)
                                                      : world.faults().outage(rank, port, kForEver);
                                         }}});
    EXPECT_EQ(story.failure, "") << (silent ? "silent" : "carrier");
  }
}

/// Whichever lane is left to each pair: a random one, and only that.
TEST(Failover, OneLaneForEachPairIsEnough) {
  for (std::uint64_t seed = 1; seed <= fewer(20u); ++seed) {
    Scenario scenario;
    scenario.rails = 3;
    scenario.seed = seed;
    const Story story = play(scenario, {{1, kMillisecond, [&](World& world) {
                                           SimRandom random(seed);
                                           for (int a = 0; a < ranks_of(world); ++a)
                                             for (int b = 0; b < a; ++b) {
                                               const std::size_t left = random.below(3);
                                               for (std::size_t port = 0; port < 3; ++port)
                                                 if (port != left)
                                                   world.faults().silence_between(a, b, port, Way::both, kForEver);
                                             }
                                         }}});
    EXPECT_EQ(story.failure, "") << "seed " << seed;
  }
}

/// The second rail is lost while the pieces of the first are on their way again; then it is the third's turn.
TEST(Failover, DuringAnother) {
  for (const bool silent : {false, true}) {
    for (Nanoseconds apart = kMillisecond; apart <= 64 * kMillisecond; apart *= 2) {
      Scenario scenario;
      scenario.rails = 3;
      const auto lose = [silent](std::size_t port) {
        return [silent, port](World& world) {
          silent ? world.faults().silence(2, port, Way::both, kForEver) : world.faults().outage(2, port, kForEver);
        };
      };
      const Story story = play(scenario, {{1, kMillisecond, lose(0)}, {1, kMillisecond + apart, lose(1)}});
      EXPECT_EQ(story.failure, "") << apart;
    }
  }
}

TEST(Failover, DifferentRailsAtBothEndsAtOnce) {
  Scenario scenario;
  scenario.rails = 3;
  const Story story = play(scenario, {{1, kMillisecond, [](World& world) { world.faults().outage(0, 0, kForEver); }},
                                      {1, kMillisecond, [](World& world) { world.faults().outage(1, 1, kForEver); }}});
  EXPECT_EQ(story.failure, "");
}

// ---- all rails

TEST(AllRails, ComeBackInTime) {
  Scenario scenario;
  scenario.timeout = 10;
  for (const bool silent : {false, true}) {
    const Story story = play(scenario, {{1, kMillisecond, [&](World& world) {
                                           for (std::size_t port = 0; port < 2; ++port)
                                             silent ? world.faults().silence(1, port, Way::both, 6 * kSecond)
                                                    : world.faults().outage(1, port, 6 * kSecond);
                                         }}});
    EXPECT_EQ(story.failure, "");
    EXPECT_EQ(story.failed, 0U);
    EXPECT_LT(story.took[1], 9 * kSecond);
  }
}

TEST(AllRails, OfADeadProcess) {
  for (const bool silent : {false, true}) {
    Scenario scenario;
    scenario.timeout = 5;
    const Story story =
        play(scenario, {{1, kMillisecond, [&](World& world) { world.faults().death(1, silent); }}});
    EXPECT_EQ(story.failure, "");
    EXPECT_EQ(story.failed, 3U) << "every rank that lives gets an error";
  }
}

/// The call gives up long before its lanes do: of each that is found out to be dead the others are still told.
TEST(AllRails, OfANodeThatIsGivenUpSoonerThanItsLanes) {
  Scenario scenario;
  scenario.timeout = 1;
  scenario.rails = 3;
  const Story story = play(scenario, {{1, kMillisecond, [](World& world) { world.faults().death(1, true); }}});
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.failed, 3U);
}

/// All others hear everybody, and would wait for ever for what these two cannot give them: they are told.
TEST(AllRails, OfOnePairFailTheWholeTeam) {
  for (const AlgorithmChoice algorithm : {AlgorithmChoice::ring, AlgorithmChoice::mesh, AlgorithmChoice::halving}) {
    Scenario scenario;
    scenario.timeout = 2;
    scenario.algorithm = algorithm;
    const Story story = play(scenario, {{1, kMillisecond, [](World& world) {
                                           world.setting().may_fail = true;
                                           for (std::size_t port = 0; port < 2; ++port)
                                             world.faults().silence_between(0, 1, port, Way::both, kForEver);
                                         }}});
    EXPECT_EQ(story.failure, "");
    EXPECT_EQ(story.failed, 4U) << "every rank gets an error";
    EXPECT_LT(story.took[1], 4 * kSecond);
  }
}

/// Once more, in the middle of the wait for the first.
TEST(AllRails, OfTwoDeadProcesses) {
  Scenario scenario;
  scenario.timeout = 5;
  scenario.ranks = 5;
  const Story story = play(scenario, {{1, kMillisecond, [](World& world) { world.faults().death(1, true); }},
                                      {1, 2 * kSecond, [](World& world) { world.faults().death(3, false); }}});
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.failed, 3U);
}

// ---- while lanes come up for the first time

/// A rail is deleted and made again with the end of a lane, of which the other end is told nothing; no other lane can tell.
TEST(Wiring, FindsOutThatTheOtherEndOfALaneIsGone) {
  Scenario scenario;
  scenario.rails = 1;
  const Story story = play(scenario, {{kBeforeAllCalls, 0, [](World& world) { world.faults().outage(0, 0, 2 * kSecond); }},
                                      {kBeforeAllCalls, kSecond, [](World& world) {
                                         world.faults().recreation(3, 0, 10 * kMillisecond);
                                       }}});
  EXPECT_EQ(story.failure, "");
}

// ---- a rail for RDMA, whose other end nobody tells that it is gone

Happening deletion_of_rdma(int rank, std::size_t rail) {
  return {1, 0, [rank, rail](World& world) { world.faults().recreation(rank, rail, 10 * kMillisecond); }};
}

/// A ring does without the lanes to the ranks opposite, and no other lane is there that could tell of them.
TEST(Rdma, LaneThatNobodyNeedsMayStayLost) {
  Scenario scenario;
  scenario.rdma = true;
  scenario.rails = 1;
  for (int rank = 0; rank < scenario.ranks; ++rank) EXPECT_EQ(play(scenario, {deletion_of_rdma(rank, 0)}).failure, "") << rank;
}

TEST(Rdma, LaneThatIsNeededComesBack) {
  Scenario scenario;
  scenario.rdma = true;
  scenario.ranks = 2;
  scenario.rate = 0.0125;
  scenario.calls = 20;
  const Story calm = play(scenario, {});
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    const Story story = play(scenario, {deletion_of_rdma(rank, 1)});
    EXPECT_EQ(story.failure, "") << rank;
    EXPECT_GT(story.lanes_lost, 0U) << rank;
    EXPECT_LT(story.took.back(), calm.took.back() * 11 / 10) << rank;
  }
}

// ---- silence that ends

/// The kernel sends again what was lost after 0.2 s and then after 0.6 s; a new connection is there sooner.
TEST(Silence, ThatLastedLongerThanOneTryIsOverSoon) {
  Scenario scenario;
  scenario.bytes = 8 * 1024 * 1024;
  scenario.rate = 0.005;
  const auto silence = [&](Nanoseconds time) {
    return play(scenario, {{1, 10 * kMillisecond, [time](World& world) {
                              for (int rank = 0; rank < ranks_of(world); ++rank)
                                world.faults().silence(rank, 1, Way::both, time);
                            }}});
  };
  const Story brief = silence(100 * kMillisecond), longer = silence(260 * kMillisecond);
  EXPECT_EQ(brief.failure + longer.failure, "");
  EXPECT_EQ(brief.lanes_lost, 0U) << "the kernel's own try is enough";
  EXPECT_GT(longer.lanes_lost, 0U) << "others have taken their places";
}

}  // namespace
}  // namespace nezha::test
