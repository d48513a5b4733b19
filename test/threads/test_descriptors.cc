// SPDX-License-Identifier: BSD-3-Clause
/// Where descriptors do not suffice for lanes and host there is no team, and a text; where they do, the next one comes up. Where
/// they suffice for no team at all, none is opened.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "engine/descriptors.h"
#include "ranks.h"

namespace nezha::test {
namespace {

/// As long as it lives this process may have `spare` descriptors more than now.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::size_t spare) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{descriptors().used + spare, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

/// For how many descriptors the kernel's table has places.
std::size_t places() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::size_t size = 0; word == "FDSize:" && status >> size) return size;
  return 0;
}

/// In a process of its own, for the table stays as large as it is.
TEST(Descriptors, HavePlacesInTimeOnceTheyAreReserved) {
  const pid_t child = fork();
  if (child == 0) {
    const std::size_t before = places(), open = descriptors().used;
    reserve_descriptors(STDERR_FILENO, 2 * before);
    const bool grown = places() >= 2 * before, none_open = descriptors().used == open;
    reserve_descriptors(STDERR_FILENO, std::size_t{1} << 40);  // more than may be
    _exit(!grown ? 1 : !none_open ? 2 : descriptors().used != open ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: the table is too small; 2 or 3: something was left open";
}

TEST(Descriptors, OfHostAreLeft) {
  Ranks ranks(3, {{"single_node", "2"}});
  nezha_peer_t* peers[] = {nullptr, ranks.peer(0, 1), ranks.peer(0, 2)};
  const nezha_team_spec_t spec{"all", 3, 0, peers, 0, 0};
  constexpr std::size_t kLanes = 4;
  {
    const FewDescriptors few(descriptors_of_host(3) + kLanes - 1);
    EXPECT_EQ(nezha_team_create(ranks.at(0).engine(), &spec), nullptr);
  }
  const std::vector<HelpText> helps = ranks.at(0).helps();
  ASSERT_EQ(helps.size(), 1u);
  EXPECT_EQ(helps[0].topic, "too few descriptors");
  ASSERT_EQ(helps[0].arguments.size(), 4u);
  EXPECT_EQ(helps[0].arguments[2], "4");
  Team team(ranks, "all");
  EXPECT_TRUE(team.start());
}

/// A team's first call, for which its node's memory is made, may come after the next team.
TEST(Descriptors, OfMemoryOfEarlierTeamsAreLeft) {
  Ranks ranks(3, {{"rail_include", "no-such-interface"}});
  nezha_peer_t* peers[] = {nullptr, ranks.peer(0, 1), ranks.peer(0, 2)};
  const nezha_team_spec_t spec{"within the node", 3, 0, peers, 0, 1};
  constexpr std::size_t kMemory = 3;
  nezha_team_t* const first = nezha_team_create(ranks.at(0).engine(), &spec);
  ASSERT_NE(first, nullptr);
  {
    const FewDescriptors few(descriptors_of_host(3) + 2 * kMemory - 1);
    EXPECT_EQ(nezha_team_create(ranks.at(0).engine(), &spec), nullptr);
  }
  ASSERT_EQ(ranks.at(0).helps().size(), 1u);
  EXPECT_EQ(ranks.at(0).helps()[0].arguments[2], "6");
  nezha_team_destroy(first);
  const FewDescriptors few(descriptors_of_host(3) + kMemory);
  nezha_team_t* const second = nezha_team_create(ranks.at(0).engine(), &spec);
  ASSERT_NE(second, nullptr);
  nezha_team_destroy(second);
}

TEST(Descriptors, MemoryThatIsThereIsNotCountedTwice) {
  Ranks ranks(3, {{"rail_include", "no-such-interface"}});
  Team first(ranks, "first"), second(ranks, "second");
  first.within_node = second.within_node = true;
  ASSERT_TRUE(first.start());
  const FewDescriptors few(descriptors_of_host(3) + 3);
  EXPECT_TRUE(second.start());
}

TEST(Descriptors, WhatIsUpIsNotCountedTwice) {
  Ranks ranks(3, {{"single_node", "2"}});
  Team first(ranks, "first");
  ASSERT_TRUE(first.start());
  const FewDescriptors none(descriptors_of_host(3) / 2);
  Team second(ranks, "second");
  EXPECT_TRUE(second.start());
}

/// What an engine without a team holds would be missing to a host that has hardly enough.
TEST(Descriptors, AreNotTakenWhereNoTeamCanBeHad) {
  std::size_t before = 0;
  const auto rank_of = [&](int rank) {
    const FewDescriptors few(rank == 0 ? descriptors_of_host(2) : 2000);
    if (rank == 0) before = descriptors().used;
    auto made = std::make_unique<Rank>(rank, "here", Settings{{"single_node", "2"}});
    if (rank == 0) {
      EXPECT_EQ(descriptors().used, before);
    }
    return made;
  };
  const auto poor = rank_of(0), rich = rank_of(1);
  EXPECT_TRUE(poor->ok()) << "no trouble of rails: " << poor->why();
  EXPECT_TRUE(poor->rails().empty());
  const auto peer = [](const Rank& of, const Rank& whom) {
    const std::vector<std::byte> address = whom.address();
    return nezha_engine_peer(of.engine(), address.data(), address.size(), 1, nullptr, 0);
  };
  nezha_peer_t* peers_of_poor[] = {nullptr, peer(*poor, *rich)};
  nezha_peer_t* peers_of_rich[] = {peer(*rich, *poor), nullptr};
  const nezha_team_spec_t spec_of_poor{"all", 2, 0, peers_of_poor, 0, 0}, spec_of_rich{"all", 2, 1, peers_of_rich, 0, 0};
  EXPECT_EQ(nezha_team_create(poor->engine(), &spec_of_poor), nullptr);
  ASSERT_EQ(poor->helps().size(), 1u);
  EXPECT_EQ(poor->helps()[0].topic, "too few descriptors");
  EXPECT_EQ(poor->helps()[0].arguments[2], "1");
  nezha_team_t* team = nezha_team_create(rich->engine(), &spec_of_rich);
  ASSERT_NE(team, nullptr);
  std::uint64_t words[NEZHA_VOTE_WORDS] = {}, no[NEZHA_VOTE_WORDS] = {};
  nezha_team_vote(team, words);
  nezha_vote_no(no);
  for (std::size_t i = 0; i < NEZHA_VOTE_WORDS; ++i) words[i] |= no[i];
  EXPECT_EQ(nezha_team_decide(team, words), NEZHA_TEAM_DECLINED);
  nezha_team_destroy(team);
}

}  // namespace
}  // namespace nezha::test
