// SPDX-License-Identifier: BSD-3-Clause
/// Where descriptors do not suffice for lanes and host there is no team, and a text; where they do, the next one comes up.
#include <gtest/gtest.h>
#include <sys/resource.h>

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

TEST(Descriptors, OfHostAreLeft) {
  Ranks ranks(3, {{"single_node", "2"}});
  nezha_peer_t* peers[] = {nullptr, ranks.peer(0, 1), ranks.peer(0, 2)};
  const nezha_team_spec_t spec{"all", 3, 0, peers, 0};
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

TEST(Descriptors, WhatIsUpIsNotCountedTwice) {
  Ranks ranks(3, {{"single_node", "2"}});
  Team first(ranks, "first");
  ASSERT_TRUE(first.start());
  const FewDescriptors none(descriptors_of_host(3) / 2);
  Team second(ranks, "second");
  EXPECT_TRUE(second.start());
}

}  // namespace
}  // namespace nezha::test
