// SPDX-License-Identifier: BSD-3-Clause
/// Allreduces of which a part goes through a tree of aggregators, one for each rack and an upstream one: the same bits as over the
/// rails alone, whatever becomes of any of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aggregators.h"
#include "engine/aggregation/inquiry.h"

namespace nezha::test {
namespace {

/// An upstream aggregator and one for each rack. Ranks go to the aggregator of their rack.
class Tree {
 public:
  /// `rack_of`: by rank. `memory`: of the upstream aggregator.
  Tree(const std::string& name, std::vector<int> rack_of, std::string share, std::uint64_t memory = std::uint64_t{1} << 30)
      : key_(name), rack_of_(std::move(rack_of)), share_(std::move(share)), memory_(memory) {
    start_upstream();
    upstream_port_ = upstream_->port();
    racks_.resize(static_cast<std::size_t>(*std::max_element(rack_of_.begin(), rack_of_.end())) + 1);
    ports_.resize(racks_.size());
    for (std::size_t rack = 0; rack < racks_.size(); ++rack) start_rack(rack);
  }

  int ranks() const { return static_cast<int>(rack_of_.size()); }
  Settings settings_of(int rank) const {
    const auto rack = static_cast<std::size_t>(rack_of_[static_cast<std::size_t>(rank)]);
    Settings own = settings(ports_[rack], key_.path(), share_);
    own.push_back({"reproducible", "1"});
    return own;
  }
  std::unique_ptr<Ranks> make_ranks() const {
    return std::make_unique<Ranks>(ranks(), [&](int rank) { return settings_of(rank); }, nodes(ranks()));
  }
  const KeyFile& key_file() const { return key_; }
  Secret key() const { return key_.key(); }
  std::uint16_t upstream_port() const { return upstream_port_; }
  std::uint16_t port(std::size_t rack) const { return ports_[rack]; }
  Aggregator& upstream() { return *upstream_; }
  void end_upstream() { upstream_.reset(); }
  void start_upstream() { upstream_ = std::make_unique<Aggregator>(key_.key(), upstream_port_, memory_); }
  void end_rack(std::size_t rack) { racks_[rack].reset(); }
  void start_rack(std::size_t rack) {
    racks_[rack] = std::make_unique<Aggregator>(key_.key(), ports_[rack], std::uint64_t{1} << 30, upstream_port_);
    ports_[rack] = racks_[rack]->port();
  }
  /// When all calls are over: the same number of operations everywhere, no memory in use. True unless somebody lost patience.
  bool finish(Ranks& ranks, std::size_t operations) {
    std::vector<const Aggregator*> all;
    for (auto& rack : racks_) all.push_back(rack.get());
    all.push_back(upstream_.get());
    for (auto& rack : racks_) rack->finish();
    upstream_->finish();
    const bool patient = !lost_patience(ranks, all);
    for (const Aggregator* one : all) expect_served(*one, operations, patient);
    return patient;
  }

 private:
  const KeyFile key_;
  const std::vector<int> rack_of_;
  const std::string share_;
  const std::uint64_t memory_;
  std::unique_ptr<Aggregator> upstream_;
  std::uint16_t upstream_port_ = 0;
  std::vector<std::unique_ptr<Aggregator>> racks_;
  std::vector<std::uint16_t> ports_;
};

class Racks : public testing::TestWithParam<std::tuple<std::vector<int>, std::string>> {};

TEST_P(Racks, GiveTheSumsOfTheRails) {
  const auto& [rack_of, share] = GetParam();
  Tree tree("racks", rack_of, share);
  const auto all = tree.make_ranks();
  Ranks& ranks = *all;
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(ranks, team));
  add_up_all(ranks, team);
  tree.finish(ranks, share == "auto" ? 9 : 18);
}

const auto kRacks = testing::Values(std::vector<int>{0, 0, 1, 1}, std::vector<int>{0, 1, 0, 1}, std::vector<int>{0, 1, 1, 2, 0},
                                    std::vector<int>{0, 0, 0});

/// In a hurry: those whose ranks are mixed, which miss nothing but the simplest.
std::vector<std::vector<int>> mixed_racks(std::vector<std::vector<int>> others) {
  std::vector<std::vector<int>> racks = {{0, 1, 0, 1}};
  if (!in_a_hurry()) racks.insert(racks.end(), others.begin(), others.end());
  return racks;
}

INSTANTIATE_TEST_SUITE_P(All, Racks, testing::Combine(testing::ValuesIn(mixed_racks({{0, 0, 1, 1}, {0, 1, 1, 2, 0}, {0, 0, 0}})),
                                                      testing::Values("37", "100", "auto")));

class SmallCalls : public testing::TestWithParam<std::vector<int>> {};

/// All go whole through the tree, because the share is 100.
TEST_P(SmallCalls, GiveTheSumsOfTheRails) {
  Tree tree("small-racks", GetParam(), "100");
  const auto all = tree.make_ranks();
  Team team(*all, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(*all, team));
  for (int round = 0; round < 10; ++round)
    for (const char* name : {"float_sum", "double_sum", "int32_sum"})
      for (const std::size_t count : {1, 2, 7, 64, 500}) add_up(*all, team, name, count, round % 2 == 0);
  if (tree.finish(*all, 150)) {
    EXPECT_EQ(joined(all->at(0)), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallCalls, kRacks);

/// Calls of both kinds, until `meanwhile` is over and for some after that.
void call_while(Ranks& ranks, Team& team, const std::function<void()>& meanwhile) {
  std::atomic<bool> over = false;
  std::thread other([&] {
    meanwhile();
    over = true;
  });
  for (int left = 10, call = 0; left != 0; ++call) {
    add_up(ranks, team, "float_sum", call % 3 != 0 ? 400003 : 500, call % 2 == 0);
    if (over) --left;
  }
  other.join();
}

class Misfortunes : public testing::TestWithParam<std::vector<int>> {
 protected:
  Misfortunes() : tree_("misfortune", GetParam(), "100"), ranks_(tree_.make_ranks()), team_(*ranks_, "everybody") {}
  void SetUp() override {
    ASSERT_TRUE(team_.start());
    ASSERT_TRUE(joins(*ranks_, team_));
  }
  void call_while(const std::function<void()>& meanwhile) { test::call_while(*ranks_, team_, meanwhile); }

  Tree tree_;
  std::unique_ptr<Ranks> ranks_;
  Team team_;
};

TEST_P(Misfortunes, TheUpstreamAggregatorEndsAndComesBack) {
  for (std::size_t times = 1; times <= 3; ++times) {
    call_while([&] {
      wait_ms(20 + 7 * static_cast<int>(times));
      tree_.end_upstream();
      wait_ms(20);
    });
    EXPECT_TRUE(said(ranks_->at(0), "goes on without aggregator"));
    tree_.start_upstream();
    ASSERT_TRUE(joins(*ranks_, team_, joined(ranks_->at(0)) + 1));
  }
}

TEST_P(Misfortunes, TheAggregatorOfARackEndsAndComesBack) {
  for (std::size_t times = 1; times <= 3; ++times) {
    call_while([&] {
      wait_ms(20 + 7 * static_cast<int>(times));
      tree_.end_rack(times % 2);
      wait_ms(20);
    });
    EXPECT_TRUE(said(ranks_->at(0), "goes on without aggregator"));
    tree_.start_rack(times % 2);
    ASSERT_TRUE(joins(*ranks_, team_, joined(ranks_->at(0)) + 1));
  }
}

TEST_P(Misfortunes, TheUpstreamAggregatorStandsStill) {
  tree_.upstream().halt();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int call = 0; call < 100 || std::chrono::steady_clock::now() < until; ++call)
    add_up(*ranks_, team_, "float_sum", call % 3 != 0 ? 400003 : 500, call % 2 == 0);
  EXPECT_EQ(joined(ranks_->at(0)), 1U) << "it is tried again although it does not answer";
  tree_.upstream().go_on();
  EXPECT_TRUE(joins(*ranks_, team_, 2));
}

INSTANTIATE_TEST_SUITE_P(All, Misfortunes, testing::ValuesIn(mixed_racks({{0, 0, 1, 1}})));

TEST(Tree, WithoutMemoryUpstreamLeavesItToTheRails) {
  Tree tree("full", {0, 0, 1, 1}, "50", 1 << 20);
  const auto ranks = tree.make_ranks();
  Team team(*ranks, "everybody");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(joins(*ranks, team));
  for (int call = 0; call < 20; ++call) add_up(*ranks, team, "float_sum", 1000003, call % 2 == 0);
  tree.upstream().stop();
  EXPECT_GE(tree.upstream().service().counts().given_up, 2U);
  EXPECT_EQ(tree.upstream().service().counts().operations, 0U);
  EXPECT_EQ(tree.upstream().service().memory(), 0U);
}

/// Two communicators at the same time, one of the ranks of one rack.
TEST(Tree, ServesSeveral) {
  Tree tree("several", {0, 0, 1, 1}, "70");
  const auto ranks = tree.make_ranks();
  Team all(*ranks, "all"), two(*ranks, "two", {0, 1});
  ASSERT_TRUE(all.start());
  ASSERT_TRUE(two.start());
  const auto use = [&](Team& team) {
    for (int call = 0; call < 60; ++call) add_up(*ranks, team, "float_sum", 400001, call % 2 == 0);
  };
  std::thread other([&] { use(two); });
  use(all);
  other.join();
  tree.finish(*ranks, 15);  // the first calls of each go over the rails, and more where they are fast
}

/// Who goes to the upstream aggregator itself does not mean the tree.
TEST(Tree, IsNoOneAggregator) {
  Tree tree("direct", {0, 0, 0}, "50");
  const auto settings_of = [&](int rank) {
    return rank == 2 ? settings(tree.upstream_port(), tree.key_file().path(), "50") : tree.settings_of(rank);
  };
  Ranks ranks(3, settings_of, nodes(3));
  Team team(ranks, "everybody"), rack(ranks, "rack", {0, 1});
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(rack.start());
  ASSERT_TRUE(joins(ranks, rack));
  for (int call = 0; call < 30; ++call) add_up(ranks, team, "float_sum", 400001, call % 2 == 0);
  if (!lost_patience(ranks, {})) {
    EXPECT_EQ(joined(ranks.at(0)), 1U);
  }
}

/// Waits for what it logs.
bool refuses(const Aggregator& aggregator) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!aggregator.logged("is not used") && std::chrono::steady_clock::now() < until) wait_ms(10);
  return aggregator.logged("is not used");
}

TEST(Tree, RefusesOtherKeys) {
  const KeyFile ours("ours"), theirs("theirs");
  Aggregator upstream(theirs.key());
  Aggregator rack(ours.key(), 0, 1 << 30, upstream.port());
  EXPECT_TRUE(refuses(rack));
  EXPECT_TRUE(rack.logged("another key"));
  Ranks ranks(2, settings(rack.port(), ours.path(), "50"), nodes(2));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  for (int call = 0; call < 20; ++call) add_up(ranks, team, "float_sum", 1 << 18, call % 2 == 0);
  EXPECT_EQ(joined(ranks.at(0)), 0U);
  upstream.stop();
  EXPECT_EQ(upstream.service().clients(), 0U);
  EXPECT_GE(upstream.service().counts().refused, 1U);
}

TEST(Tree, HasTwoLevels) {
  Tree tree("levels", {0, 0}, "50");
  wait_ms(300);  // the rack has found the upstream aggregator
  Aggregator third(tree.key(), 0, 1 << 30, tree.port(0));
  EXPECT_TRUE(refuses(third));
  EXPECT_TRUE(third.logged("it has an upstream aggregator itself"));
}

/// Nobody listens there any more.
std::uint16_t free_port(const Secret& key) { return Aggregator(key).port(); }

TEST(Tree, HasNoCircle) {
  const KeyFile key("circle");
  const std::uint16_t one = free_port(key.key()), other = free_port(key.key());
  Aggregator first(key.key(), one, 1 << 30, other), second(key.key(), other, 1 << 30, one);
  for (const Aggregator* aggregator : {&first, &second}) {
    EXPECT_TRUE(refuses(*aggregator));
    EXPECT_TRUE(aggregator->logged("it has an upstream aggregator itself"));
  }
}

TEST(Tree, IsNotOneItself) {
  const KeyFile key("self");
  const std::uint16_t port = free_port(key.key());
  Aggregator aggregator(key.key(), port, 1 << 30, port);
  EXPECT_TRUE(refuses(aggregator));
  EXPECT_TRUE(aggregator.logged("it is this one itself"));
}

TEST(Tree, TellsWhyItsUpstreamAggregatorIsNotThere) {
  const KeyFile key("alone");
  Aggregator rack(key.key(), 0, 1 << 30, free_port(key.key()));
  ASSERT_TRUE(refuses(rack));
  const AggregatorAnswer answer = ask_aggregator({"127.0.0.1", rack.port()}, key.key(), "n0");
  EXPECT_FALSE(answer.status.ok());
  EXPECT_NE(answer.status.text().find("its upstream aggregator is not there: "), std::string::npos) << answer.status.text();
  EXPECT_NE(answer.status.text().find("Connection refused"), std::string::npos) << answer.status.text();
}

}  // namespace
}  // namespace nezha::test
