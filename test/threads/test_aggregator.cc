// SPDX-License-Identifier: BSD-3-Clause
/// Allreduces of which a part goes through an aggregator, a whole one with real sockets: the same bits as over the rails
/// alone, whatever becomes of it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aggregators.h"
#include "engine/aggregation/stars.h"

namespace nezha::test {
namespace {

class Shares : public testing::TestWithParam<std::tuple<int, std::string>> {};

TEST_P(Shares, GiveTheSumsOfTheRails) {
  const auto& [size, share] = GetParam();
  const KeyFile key("shared");
  Aggregator aggregator(key.key());
  Ranks ranks(size, settings(aggregator.port(), key.path(), share), nodes(size));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(ranks, team));
  add_up_all(ranks, team);
  aggregator.finish();
  const bool tries_none = std::string(share) == "auto";
  expect_served(aggregator, tries_none ? 9 : 18, !lost_patience(ranks, {}));
}

INSTANTIATE_TEST_SUITE_P(All, Shares,
                         testing::Combine(testing::ValuesIn(in_a_hurry() ? std::vector{2, 5} : std::vector{2, 3, 5}),
                                          testing::Values("37", "100", "auto")));

TEST(Aggregators, MayEndAndComeBackInTheMiddle) {
  const KeyFile key("back");
  auto aggregator = std::make_unique<Aggregator>(key.key());
  const std::uint16_t port = aggregator->port();
  Ranks ranks(3, settings(port, key.path(), "60"), nodes(3));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (std::size_t times = 1; times <= 3; ++times) {
    ASSERT_TRUE(joins(ranks, team, times));
    add_up_while(ranks, team, [&] {
      wait_ms(20 + 7 * static_cast<int>(times));
      aggregator.reset();
      wait_ms(20);
    });
    if (!lost_patience(ranks, {})) {
      EXPECT_EQ(joined(ranks.at(0)), times);
    }
    aggregator = std::make_unique<Aggregator>(key.key(), port);
  }
}

/// Several share what goes through them. One that ends in a call leaves its part to the rails, and the others go on.
TEST(Aggregators, ShareAVector) {
  const KeyFile key("three");
  std::array<std::unique_ptr<Aggregator>, 3> aggregators;
  for (auto& aggregator : aggregators) aggregator = std::make_unique<Aggregator>(key.key());
  const std::uint16_t port = aggregators[1]->port();
  Settings three = settings(aggregators[0]->port(), key.path(), "70");
  three[2].second += "," + place(port) + "," + place(aggregators[2]->port());
  Ranks ranks(3, three, nodes(3));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (std::size_t joins_before = 3; joins_before <= 4; ++joins_before) {
    ASSERT_TRUE(joins(ranks, team, joins_before));
    for (const bool in_place : {false, true}) add_up(ranks, team, "float_sum", 1000003, in_place);
    add_up_while(ranks, team, [&] {
      wait_ms(27);
      aggregators[1].reset();
      wait_ms(20);
    });
    EXPECT_TRUE(said(ranks.at(0), "goes on without aggregator " + place(port)));
    if (!lost_patience(ranks, {})) {
      EXPECT_EQ(joined(ranks.at(0)), joins_before);
    }
    aggregators[1] = std::make_unique<Aggregator>(key.key(), port);
  }
  const bool patient = !lost_patience(ranks, {});
  for (const std::size_t other : {0, 2}) {
    EXPECT_TRUE(!patient || !said(ranks.at(0), "goes on without aggregator " + place(aggregators[other]->port())));
    aggregators[other]->finish();
    expect_served(*aggregators[other], 4, patient);
  }
}

/// Small vectors go whole, all of them where the share is 100. Over the rails they have the same order of sums.
Settings small_settings(std::uint16_t port, const std::string& key) {
  Settings all = settings(port, key, "100");
  all.push_back({"reproducible", "1"});
  return all;
}

class SmallCalls : public testing::TestWithParam<int> {};

constexpr std::size_t kSmallCounts[] = {1, 2, 7, 64, 500};
const auto kEnds = fewer<std::size_t>(4) + 1;  ///< of a service, after each of which it takes seconds to be joined again

TEST_P(SmallCalls, GiveTheSumsOfTheRails) {
  const KeyFile key("small");
  Aggregator aggregator(key.key());
  Ranks ranks(GetParam(), small_settings(aggregator.port(), key.path()), nodes(GetParam()));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(ranks, team));
  for (int round = 0; round < 10; ++round)
    for (const char* name : {"float_sum", "double_sum", "int32_sum"})
      for (const std::size_t count : kSmallCounts) add_up(ranks, team, name, count, round % 2 == 0);
  for (const bool in_place : {false, true}) {
    add_up(ranks, team, "float_sum", 300001, in_place);
    add_up(ranks, team, "float_sum", 3, in_place);
  }
  aggregator.finish();
  const bool patient = !lost_patience(ranks, {});
  expect_served(aggregator, 150 + 4, patient);
  if (patient) {
    EXPECT_EQ(joined(ranks.at(0)), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallCalls, testing::ValuesIn(in_a_hurry() ? std::vector{3, 8} : std::vector{2, 3, 5, 8}));

/// Calls of small vectors until the team uses an aggregator, for that time. Ranks agree on that in one of a thousand calls.
bool small_calls_join(Ranks& ranks, Team& team, std::size_t times) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (joined(ranks.at(0)) < times) {
    if (std::chrono::steady_clock::now() > until) return false;
    add_up(ranks, team, "float_sum", 33, false, 16);
    wait_ms(5);  // as in joins()
  }
  return true;
}

TEST(Aggregators, MayEndAndComeBackInSmallCalls) {
  const KeyFile key("small-back");
  auto aggregator = std::make_unique<Aggregator>(key.key());
  const std::uint16_t port = aggregator->port();
  Ranks ranks(4, small_settings(port, key.path()), nodes(4));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (std::size_t times = 1; times <= kEnds; ++times) {
    ASSERT_TRUE(small_calls_join(ranks, team, times));
    std::atomic<bool> over = false;
    std::thread other([&] {
      wait_ms(10 + 3 * static_cast<int>(times));
      aggregator.reset();
      wait_ms(20);
      over = true;
    });
    for (std::size_t call = 0; !over; ++call) add_up(ranks, team, "float_sum", kSmallCounts[call % 5], call % 2 == 0);
    other.join();
    for (int call = 0; call < 10; ++call) add_up(ranks, team, "float_sum", 500, false);
    if (!lost_patience(ranks, {})) {
      EXPECT_EQ(joined(ranks.at(0)), times);
    }
    EXPECT_TRUE(said(ranks.at(0), "goes on without aggregator"));
    aggregator = std::make_unique<Aggregator>(key.key(), port);
  }
}

/// Each rank makes many calls in a row, so that ranks are in different ones when the service ends.
TEST(Aggregators, MayEndBetweenRanksThatHaveTheSumAndOthers) {
  const KeyFile key("small-apart");
  auto aggregator = std::make_unique<Aggregator>(key.key());
  const std::uint16_t port = aggregator->port();
  constexpr int kRanks = 4;
  const auto calls = fewer<std::size_t>(3000);
  Ranks ranks(kRanks, small_settings(port, key.path()), nodes(kRanks));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const Kind& sum = kind("float_sum");
  std::vector<std::vector<std::byte>> ordered;
  for (const int rank : ranks.ring_order(team.members())) ordered.push_back(make_vector(sum, 100, static_cast<std::size_t>(rank)));
  const std::vector<std::byte> expected = ring_result(sum, ordered);
  for (std::size_t times = 1; times <= kEnds; ++times) {
    ASSERT_TRUE(small_calls_join(ranks, team, times));
    std::thread other([&] {
      wait_ms(15 + 11 * static_cast<int>(times));
      aggregator.reset();
    });
    ranks.run([&](int rank) {
      const std::vector<std::byte> send = make_vector(sum, 100, static_cast<std::size_t>(rank));
      for (std::size_t call = 0; call < calls; ++call) {
        std::vector<std::byte> recv(send.size());
        ASSERT_EQ(team.allreduce(rank, make_call(sum, 100, send.data(), recv.data())), NEZHA_OK);
        ASSERT_TRUE(same_bytes(recv, expected)) << "on rank " << rank << ", call " << call;
      }
    });
    other.join();
    add_up(ranks, team, "float_sum", 100, true);
    aggregator = std::make_unique<Aggregator>(key.key(), port);
  }
}

/// It returned from the last call, perhaps before others had their sums.
TEST(Aggregators, AreNotNeededByThoseWhoLeave) {
  const KeyFile key("small-left");
  auto aggregator = std::make_unique<Aggregator>(key.key());
  Ranks ranks(3, small_settings(aggregator->port(), key.path()), nodes(3));
  Team ended(ranks, "ended"), other(ranks, "other");
  ASSERT_TRUE(ended.start());
  ASSERT_TRUE(other.start());
  ASSERT_TRUE(small_calls_join(ranks, ended, 1));
  for (int call = 0; call < 10; ++call) add_up(ranks, ended, "float_sum", 100, false);
  ended.destroy(1);
  for (int call = 0; call < 10; ++call) add_up(ranks, other, "float_sum", 100, false);
  ended.destroy(0);
  ended.destroy(2);
  aggregator.reset();
  for (int call = 0; call < 10; ++call) add_up(ranks, other, "float_sum", 100, false);
}

TEST(Aggregators, WithAnotherKeyAreNotUsed) {
  const KeyFile key("ours"), other("theirs");
  Aggregator aggregator(other.key());
  Ranks ranks(2, settings(aggregator.port(), key.path(), "50"), nodes(2));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!said(ranks.at(0), "another key") && std::chrono::steady_clock::now() < until)
    add_up(ranks, team, "float_sum", 1 << 18, false);
  EXPECT_TRUE(said(ranks.at(0), "another key"));
  EXPECT_EQ(joined(ranks.at(0)), 0U);
  aggregator.stop();
  EXPECT_GE(aggregator.service().counts().refused, 1U);
  EXPECT_EQ(aggregator.service().clients(), 0U);
}

/// Those who are there stay, although they know the old one.
TEST(Aggregators, TakeANewKeyWhileTheyServe) {
  const KeyFile before("before"), after("after");
  Aggregator aggregator(before.key());
  Ranks old_ranks(2, settings(aggregator.port(), before.path(), "50"), nodes(2));
  Ranks new_ranks(2, settings(aggregator.port(), after.path(), "50"), nodes(2));
  Team old_team(old_ranks, "old"), new_team(new_ranks, "new");
  ASSERT_TRUE(old_team.start());
  ASSERT_TRUE(new_team.start());
  ASSERT_TRUE(joins(old_ranks, old_team));
  EXPECT_EQ(joined(new_ranks.at(0)), 0U);
  aggregator.reload(after.key());
  ASSERT_TRUE(joins(new_ranks, new_team));
  for (int call = 0; call < 4; ++call) add_up(old_ranks, old_team, "float_sum", 400001, call % 2 == 0);
  aggregator.finish();
  const bool patient = !lost_patience(old_ranks, {}) && !lost_patience(new_ranks, {});
  expect_served(aggregator, 4, patient);
  if (patient) {
    EXPECT_EQ(joined(old_ranks.at(0)), 1U);
  }
}

TEST(Aggregators, WithoutMemoryLeaveItToTheRails) {
  const KeyFile key("full");
  Aggregator aggregator(key.key(), 0, 1 << 20);
  Ranks ranks(3, settings(aggregator.port(), key.path(), "50"), nodes(3));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(ranks, team));
  for (int call = 0; call < 20; ++call) add_up(ranks, team, "float_sum", 1000003, call % 2 == 0);
  aggregator.stop();
  EXPECT_GE(aggregator.service().counts().given_up, 2U);  // it was tried again
  EXPECT_EQ(aggregator.service().counts().operations, 0U);
}

/// Two jobs, and two communicators of one of them, at the same time.
TEST(Aggregators, ServeSeveral) {
  const KeyFile key("several");
  Aggregator aggregator(key.key());
  Ranks one(4, settings(aggregator.port(), key.path(), "70"), nodes(4));
  Ranks other(3, settings(aggregator.port(), key.path(), "70"), nodes(3));
  Team all(one, "all"), two(one, "two", {1, 3}), three(other, "three");
  ASSERT_TRUE(all.start());
  ASSERT_TRUE(two.start());
  ASSERT_TRUE(three.start());
  std::vector<std::thread> callers;
  const auto use = [&](Ranks& ranks, Team& team) {
    callers.emplace_back([&ranks, &team] {
      EXPECT_TRUE(joins(ranks, team));
      for (int call = 0; call < 10; ++call) add_up(ranks, team, "float_sum", 400001, call % 2 == 0);
    });
  };
  use(one, all);
  use(one, two);
  use(other, three);
  for (std::thread& caller : callers) caller.join();
  aggregator.finish();
  expect_served(aggregator, 30, !lost_patience(one, {}) && !lost_patience(other, {}));
}

/// It was there when the members voted, and has gone when all had.
TEST(Stars, WithoutTheirServiceLackTheSums) {
  BufferPool buffers;
  Stars stars(1, 2, 0, AggregatorShare{50}, 0, buffers);
  const Star& star = stars.join(1, nullptr);
  ASSERT_TRUE(stars.in());
  EXPECT_EQ(star.why(), "the service is gone");
  std::vector<std::byte> vector(sizeof(float) << 20);
  Call call;
  call.count = 1 << 20;
  call.element = sizeof(float);
  call.send = call.recv = vector.data();
  call.reducer.element = call.element;
  call.star.type = NEZHA_FLOAT;
  call.star.op = NEZHA_SUM;
  stars.begin(call, 0);
  EXPECT_TRUE(stars.settled(0, false));
  stars.confirmation(0);
  EXPECT_TRUE(stars.lacking(1));
  EXPECT_FALSE(stars.lacking(0));
  EXPECT_EQ(stars.accept(call), 0U);
  stars.leave(1);
  EXPECT_FALSE(stars.in());
}

TEST(Aggregators, AreNotLostWithTheCommunicator) {
  const KeyFile key("ended");
  Aggregator aggregator(key.key());
  Ranks ranks(2, settings(aggregator.port(), key.path(), "50"), nodes(2));
  Team ended(ranks, "ended"), other(ranks, "other");
  ASSERT_TRUE(ended.start());
  ASSERT_TRUE(other.start());
  ASSERT_TRUE(joins(ranks, ended));
  ended.destroy(0);
  for (int call = 0; call < 10; ++call) add_up(ranks, other, "float_sum", 1 << 18, false);  // rank 1 is told meanwhile
  ended.destroy(1);
  for (int rank = 0; rank < 2; ++rank) EXPECT_FALSE(said(ranks.at(rank), "goes on without"));
}

/// A type that the engine has no kernel for goes over the rails.
TEST(Aggregators, AreNotAskedWhatTheyCannotAddUp) {
  const KeyFile key("host");
  Aggregator aggregator(key.key());
  Ranks ranks(2, settings(aggregator.port(), key.path(), "50"), nodes(2));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(ranks, team));
  for (const char* name : {"three_sum", "row_sum", "located_max"})
    for (int call = 0; call < 4; ++call) add_up(ranks, team, name, (2 << 20) / kind(name).element, call % 2 == 0);
}

TEST(Aggregators, NeedAKeyThatIsSecret) {
  const KeyFile key("open");
  chmod(key.path().c_str(), 0640);
  Ranks ranks(2, settings(1, key.path(), "50"), nodes(2));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  add_up(ranks, team, "float_sum", 1 << 18, false);
  bool told = false;
  for (const HelpText& help : ranks.at(0).helps())
    told = told || (help.topic == "no aggregator key" && help.arguments.at(1).find("0640") != std::string::npos);
  EXPECT_TRUE(told);
}

TEST(Aggregators, ErrorsNameTheKeyFile) {
  Secret secret{};
  for (const std::string path : {"/nonexistent", "/dev/null", "/dev"})
    EXPECT_EQ(read_aggregator_key({path}, secret).text().find("key file " + path + ": "), 0U) << path;
}

}  // namespace
}  // namespace nezha::test
