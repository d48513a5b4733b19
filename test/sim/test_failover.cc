// SPDX-License-Identifier: BSD-3-Clause
/// Rails lost in the middle of an operation, one kind of loss at a time, in virtual time: the result has the right bits,
/// nothing is written or read after its time (the world checks all that), and nobody waits longer than there is reason to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "../unit/count_allocations.h"
#include "scenario.h"

namespace nezha::test {
namespace {

constexpr Nanoseconds kForEver = 1000 * kSecond;

int ranks_of(World& world) { return world.setting().shape.ranks; }

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

class EveryPhase : public testing::TestWithParam<std::tuple<AlgorithmChoice, bool, std::size_t>> {};

TEST_P(EveryPhase, LosesARail) {
  const auto [algorithm, in_place, kind] = GetParam();
  Scenario scenario;
  scenario.algorithm = algorithm;
  scenario.in_place = in_place;
  const bool whole = algorithm == AlgorithmChoice::single_step || algorithm == AlgorithmChoice::doubling;
  scenario.bytes = whole ? 24 * 1024 : 512 * 1024;
  if (whole) scenario.rate = 0.005;
  const Nanoseconds both = play(scenario, {}).took[1];
  Scenario alone = scenario;
  alone.rails = 1;
  const Nanoseconds one = play(alone, {}).took[1];
  for (const double phase : {0.02, 0.2, 0.4, 0.6, 0.8, 0.95}) {
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
    scenario.keeps_to = only(0);
    scenario.calls = 8;
    const Nanoseconds calm = play(scenario, {}).took[1];
    for (const auto& [name, lose] : kKinds) {
      for (const double phase : {0.1, 0.6}) {
        const Story story = play(scenario, {{1, static_cast<Nanoseconds>(phase * static_cast<double>(calm)), lose}});
        EXPECT_EQ(story.failure, "") << name << " at " << phase;
        EXPECT_LT(story.took[1], 2 * calm + 100 * kMillisecond) << name << " at " << phase;
        EXPECT_LT(story.took[7], 2 * calm) << name << " at " << phase << ": nobody waits for what is known to be lost";
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
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
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

// ---- no false alarms

TEST(FalseAlarms, NoneUnderAPausedProcess) {
  Scenario scenario;
  scenario.calls = 6;
  scenario.thought = 10 * kMillisecond;
  std::vector<Happening> pauses;
  for (std::size_t call = 1; call < scenario.calls; ++call)
    pauses.push_back({call, kMillisecond, [call](World& world) {
                        world.faults().pause(static_cast<int>(call) % ranks_of(world), 3 * kSecond);
                      }});
  const Story story = play(scenario, pauses);
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
}

TEST(FalseAlarms, NoneOnASlowRailWithAFullQueue) {
  Scenario scenario;
  const Story story = play(scenario, {{1, kMillisecond, [](World& world) { world.faults().rate(1, 0, 0.0005); }}});
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
}

TEST(FalseAlarms, NoneWhileTheApplicationComputes) {
  Scenario scenario;
  scenario.calls = 8;
  scenario.thought = 60 * kSecond;
  const Story story = play(scenario, {});
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
  EXPECT_EQ(story.suspicions, 0U);
}

TEST(FalseAlarms, NoneWhenAClockJumps) {
  Scenario scenario;
  scenario.timeout = 5;
  std::vector<Happening> jumps;
  for (int i = 0; i < 10; ++i)
    jumps.push_back({1, i * kMillisecond, [i](World& world) { world.faults().jump(i % 4, (kSecond / 10) << i); }});
  const Story story = play(scenario, jumps);
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(story.lanes_lost, 0U);
}

// ---- what was learned

/// The stages that rank 0's table goes through, by call; nothing for a call that the incumbent had.
struct Learned {
  std::vector<std::optional<SizeClass::Stage>> stages;
  bool one_rail = false;  ///< is a candidate
  bool looks(std::size_t from, std::size_t to) const {
    return std::find(stages.begin() + static_cast<std::ptrdiff_t>(from), stages.begin() + static_cast<std::ptrdiff_t>(to),
                     SizeClass::Stage::look) != stages.begin() + static_cast<std::ptrdiff_t>(to);
  }
  std::ptrdiff_t left(std::size_t from) const {
    return std::count(stages.begin() + static_cast<std::ptrdiff_t>(from), stages.end(), std::nullopt);
  }
};

Learned learn(Scenario scenario, std::vector<Happening> happenings) {
  scenario.algorithm = AlgorithmChoice::automatic;
  scenario.learn = true;
  Learned learned;
  learned.stages.resize(scenario.calls);
  for (std::size_t call = 0; call < scenario.calls; ++call)
    happenings.push_back({call, 0, [&learned, &scenario, call](World& world) {
                            const SizeClass* one = world.process(0).team(0)->table().size_class(size_class_of(scenario.bytes));
                            if (one == nullptr) return;  // it is late for its first call
                            learned.stages[call] = one->stage();
                            for (const Candidate& way : one->candidates()) learned.one_rail = learned.one_rail || way.one_rail;
                          }});
  EXPECT_EQ(play(scenario, happenings).failure, "");
  return learned;
}

TEST(Learning, OneRailIsTriedWhereThereAreSeveral) {
  Scenario scenario;
  scenario.calls = 10;
  EXPECT_TRUE(learn(scenario, {}).one_rail);
  scenario.rails = 1;
  EXPECT_FALSE(learn(scenario, {}).one_rail);
}

TEST(Learning, ALaneThatGoesOrComesHasTheTableLookAgain) {
  Scenario scenario;
  scenario.bytes = 4 * 1024;
  scenario.calls = 1200;
  const Learned calm = learn(scenario, {});
  EXPECT_FALSE(calm.looks(100, 1200));
  EXPECT_GT(calm.left(0), 0);
  const Learned loses = learn(scenario, {{200, 0, [](World& world) { world.faults().outage(1, 1, kForEver); }}});
  EXPECT_TRUE(loses.looks(200, 1200)) << "though small calls, on the first rail, take no longer";
  EXPECT_EQ(loses.left(200), 0) << "the incumbent may run over what is lost";
}

// ---- coming and going

/// Memory does not grow with the number of times that a rail went: by less than 1 KiB each time.
TEST(Flapping, LeavesNothingBehind) {
  Scenario scenario;
  scenario.bytes = 128 * 1024;
  scenario.calls = 600;
  scenario.thought = kSecond;  // in which the rail comes back
  std::vector<Happening> flaps;
  for (std::size_t call = 1; call < scenario.calls; call += 5)
    flaps.push_back({call, 0, [](World& world) { world.faults().outage(1, 0, 10 * kMillisecond); }});
  std::size_t early = SIZE_MAX, late = SIZE_MAX;  // the least of twenty calls: when one begins, others may still have their vectors
  const auto look = [&](std::size_t call, std::size_t& least) {
    flaps.push_back({call, 0, [&least](World& world) { least = std::min(least, live_bytes() - world.observer().memory()); }});
  };
  for (std::size_t i = 0; i < 20; ++i) look(281 + i, early), look(576 + i, late);
  const Story story = play(scenario, flaps);
  EXPECT_EQ(story.failure, "");
  EXPECT_GT(story.lanes_lost, 100U);
  EXPECT_LT(late, early + 59 * 1024);
}

/// A rail that is there half of the time brings more than one that is not there at all.
TEST(Flapping, CostsLessThanStayingOut) {
  Scenario scenario;
  scenario.calls = 60;
  scenario.bytes = 256 * 1024;
  scenario.rate = 0.0125;
  constexpr Nanoseconds kHalf = 300 * kMillisecond;
  const auto time = [&](const std::vector<Happening>& happenings) {
    const Story story = play(scenario, happenings);
    EXPECT_EQ(story.failure, "");
    return std::accumulate(story.took.begin() + 1, story.took.end(), Nanoseconds{0});
  };
  const Nanoseconds out = time({{1, 0, [](World& world) { world.faults().outage(1, 0, kForEver); }}});
  std::vector<Happening> flaps;
  for (Nanoseconds when = 0; when < 10 * kSecond; when += 2 * kHalf)
    flaps.push_back({1, when, [](World& world) { world.faults().outage(1, 0, kHalf); }});
  EXPECT_LT(time(flaps), out);
}

}  // namespace
}  // namespace nezha::test
