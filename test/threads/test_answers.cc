// SPDX-License-Identifier: BSD-3-Clause
/// What the engine answers to parameters, addresses and votes, and what it says of them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "../unit/small_files.h"
#include "kinds.h"

namespace nezha::test {
namespace {

/// Does one small allreduce on every member and checks it.
void expect_it_works(Ranks& ranks, Team& team, std::size_t bytes = 4000) {
  const Kind& bits = kind("uint8_bor");
  ranks.run([&](int rank) {
    std::vector<std::byte> vector(bytes, std::byte(1 << rank));
    EXPECT_EQ(team.allreduce(rank, make_call(bits, bytes, vector.data(), vector.data())), NEZHA_OK);
    EXPECT_TRUE(vector == std::vector(bytes, std::byte((1 << ranks.size()) - 1))) << "on rank " << rank;
  });
}

int answer_of(Team& team, int rank, std::size_t count, std::size_t element) {
  std::vector<std::byte> vector(count * element);
  HostOperation nothing{[](const std::byte*, const std::byte*, std::byte*, std::size_t) {}, 1};
  return team.allreduce(rank, {NEZHA_ALLREDUCE, vector.data(), vector.data(), count, element, NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, &nothing, nullptr, 0, 0});
}

std::vector<HelpText> helps_of(const Rank& rank, const std::string& topic) {
  std::vector<HelpText> found = rank.helps();
  std::erase_if(found, [&](const HelpText& help) { return help.topic != topic; });
  return found;
}

/// What the first of two rails has sent of all bytes.
double share_of_first(const Rank& rank) {
  const auto rails = rank.rails();
  return static_cast<double>(rails[0].bytes_sent) / static_cast<double>(rails[0].bytes_sent + rails[1].bytes_sent);
}

/// A listener that takes a port of 127.0.0.1.
class TakenPort {
 public:
  TakenPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = std::to_string(ntohs(address.sin_port));
  }
  ~TakenPort() { close(fd_); }
  std::string range() const { return number_ + "-" + number_; }
  const std::string& number() const { return number_; }

 private:
  int fd_;
  std::string number_;
};

bool can_use_ipv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool usable = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  if (fd >= 0) close(fd);
  return usable;
}

// ---- addresses ------------------------------------------------------------------------------------------------------

class Address : public testing::Test {
 protected:
  std::string refusal(const std::vector<std::byte>& bytes) {
    char why[256] = "";
    const nezha_peer_t* peer = nezha_engine_peer(here_.engine(), bytes.data(), bytes.size(), 1, why, sizeof why);
    return peer != nullptr ? "accepted" : why;
  }

  Rank here_{0, "here", {{"single_node", "2"}}};
  Rank there_{1, "there", {{"single_node", "2"}}};
  std::vector<std::byte> good_ = there_.address();
};

TEST_F(Address, OfTheSameProcessIsTheSamePeer) {
  EXPECT_EQ(refusal(good_), "accepted");
  char why[256] = "";
  EXPECT_EQ(nezha_engine_peer(here_.engine(), good_.data(), good_.size(), 1, why, sizeof why),
            nezha_engine_peer(here_.engine(), good_.data(), good_.size(), 1, why, sizeof why));
}

TEST_F(Address, OfAnyOtherLengthIsRefused) {
  for (std::size_t size = 0; size < good_.size(); ++size)
    EXPECT_NE(refusal({good_.begin(), good_.begin() + static_cast<std::ptrdiff_t>(size)}).find("not understood"), std::string::npos)
        << size << " bytes";
  good_.push_back(std::byte{0});
  EXPECT_NE(refusal(good_).find("its length is wrong"), std::string::npos);
}

TEST_F(Address, OfAnotherMakeOrVersionIsRefused) {
  auto foreign = good_, newer = good_;
  foreign[0] ^= std::byte{1};
  newer[4] ^= std::byte{64};
  EXPECT_NE(refusal(foreign).find("not written by Nezha"), std::string::npos);
  EXPECT_NE(refusal(newer).find("wire version"), std::string::npos);
}

TEST_F(Address, WithAnyBitFlippedDoesNoHarm) {
  int accepted = 0;
  for (std::size_t bit = 0; bit < 8 * good_.size(); ++bit) {
    auto flipped = good_;
    flipped[bit / 8] ^= std::byte(1 << bit % 8);
    accepted += refusal(flipped) == "accepted" ? 1 : 0;
  }
  EXPECT_LT(accepted, static_cast<int>(8 * good_.size()) - 64) << "magic and version are 64 bits";
}

// ---- votes ----------------------------------------------------------------------------------------------------------

TEST(Votes, OneNoIsForAll) {
  Ranks ranks(3, {{"single_node", "1"}});
  Team team(ranks, "not wanted by rank 1");
  ranks.run([&](int rank) {
    if (rank != 1) team.create(rank);
    EXPECT_EQ(team.agree(rank), NEZHA_TEAM_DECLINED);
    if (rank != 1) {
      EXPECT_EQ(team.agree(rank), NEZHA_TEAM_DECLINED) << "for good";
    } else {
      team.agree(rank);
    }
  });
}

TEST(Votes, AnEngineWithoutRailsVotesNo) {
  const TakenPort port;
  Ranks ranks(2, [&](int rank) {
    return rank == 0 ? Settings{{"single_node", "1"}} : Settings{{"single_node", "1"}, {"port_range", port.range()}};
  });
  EXPECT_EQ(ranks.at(1).result(), NEZHA_ERR_RAILS);
  EXPECT_NE(ranks.at(1).why().find(port.number()), std::string::npos) << ranks.at(1).why();
  EXPECT_NE(ranks.at(1).why().find("coll_nezha_port_range"), std::string::npos) << ranks.at(1).why();
  Team team(ranks, "both");
  ranks.run([&](int rank) {
    team.create(rank);
    EXPECT_EQ(team.agree(rank), NEZHA_TEAM_DECLINED);
  });
}

TEST(Votes, ParametersOfRank0CountForAll) {
  Ranks ranks(3, [](int rank) {
    return Settings{{"single_node", "1"}, {"algorithm", rank == 2 ? "incumbent" : "mesh"}};
  });
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  expect_it_works(ranks, team);
  EXPECT_TRUE(helps_of(ranks.at(0), "parameters differ").empty());
  EXPECT_TRUE(helps_of(ranks.at(1), "parameters differ").empty());
  EXPECT_EQ(helps_of(ranks.at(2), "parameters differ").size(), 1u);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

TEST(Calls, ThatBelongToTheIncumbent) {
  Ranks ranks(2, {{"single_node", "1"}, {"threshold", "1000"}});
  Team team(ranks, "both");
  ASSERT_TRUE(team.start());
  ranks.run([&](int rank) {
    EXPECT_EQ(answer_of(team, rank, 999, 1), NEZHA_USE_INCUMBENT);
    EXPECT_EQ(answer_of(team, rank, 1000, 1), NEZHA_OK);
    EXPECT_EQ(answer_of(team, rank, 1, 64 * 1024), NEZHA_OK);
    EXPECT_EQ(answer_of(team, rank, 1, 64 * 1024 + 1), NEZHA_USE_INCUMBENT);
    EXPECT_EQ(answer_of(team, rank, 3, 100000), NEZHA_USE_INCUMBENT);
    EXPECT_EQ(answer_of(team, rank, 0, 8), NEZHA_OK);
  });
  Ranks off(2, {{"single_node", "1"}, {"algorithm", "incumbent"}});
  Team idle(off, "both");
  ASSERT_TRUE(idle.start());
  off.run([&](int rank) { EXPECT_EQ(answer_of(idle, rank, 5000, 8), NEZHA_USE_INCUMBENT); });
}

// ---- rails ----------------------------------------------------------------------------------------------------------

TEST(Rails, OneWithoutAPortIsLeftOut) {
  const TakenPort port;
  const Settings settings = {{"single_node", "2"}, {"port_range", port.range()}};
  const Rank rank(0, "here", settings);  // the port is free at 127.0.0.2
  ASSERT_TRUE(rank.ok()) << rank.why();
  ASSERT_EQ(rank.rails().size(), 1u);
  EXPECT_STREQ(rank.rails()[0].name, "tcp/lo1");
  const auto lines = rank.lines();
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("tcp/lo0 is left out") != std::string::npos;
  }));
}

TEST(Rails, OverIPv6) {
  if (!can_use_ipv6()) GTEST_SKIP() << "no IPv6 loopback address here";
  Ranks ranks(3, {{"rail_include", "lo"}, {"ip_version", "6"}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  expect_it_works(ranks, team);
  expect_it_works(ranks, team, 2000000);
  EXPECT_STREQ(ranks.at(0).rails()[0].address, "::1");
}

TEST(Rails, UnknownNamesAreToldOnce) {
  Ranks ranks(2, {{"rail_include", "nosuch7,lo,10.255.254.0/24"}});
  const std::vector<HelpText> helps = helps_of(ranks.at(0), "no such rail");
  ASSERT_EQ(helps.size(), 1u);
  ASSERT_EQ(helps[0].arguments.size(), 3u);
  EXPECT_EQ(helps[0].arguments[0], "nosuch7, 10.255.254.0/24");
  EXPECT_EQ(helps[0].arguments[1], "here");
  EXPECT_NE(helps[0].arguments[2].find("lo (127.0.0.1/8"), std::string::npos) << helps[0].arguments[2];
  Team team(ranks, "both");
  ASSERT_TRUE(team.start());
  expect_it_works(ranks, team);
  EXPECT_EQ(helps_of(ranks.at(0), "no such rail").size(), 1u) << "told again";
}

TEST(Rails, WhyAKindIsAbsentIsToldWithTheName) {
  Ranks ranks(2, {{"rail_include", "lo,btl/0"}, {"btl", "1"}});
  const std::vector<HelpText> helps = helps_of(ranks.at(0), "no such rail");
  ASSERT_EQ(helps.size(), 1u);
  EXPECT_EQ(helps[0].arguments[0], "btl/0 (there is no Open MPI here to send by)");
}

TEST(Trace, OnAFullDiskIsToldOnce) {
  const std::string path = testing::TempDir() + "nezha-trace-" + std::to_string(getpid());
  {
    const SmallFiles full(10);
    Ranks ranks(2, {{"single_node", "2"}, {"trace", path}});
    nezha_engine_ending(ranks.at(0).engine(), 1);
    const std::vector<HelpText> helps = helps_of(ranks.at(0), "trace ends");
    ASSERT_EQ(helps.size(), 1u);
    EXPECT_EQ(helps[0].arguments[1], path + " cannot be written any more: File too large");
    nezha_engine_ending(ranks.at(0).engine(), 1);
    EXPECT_EQ(helps_of(ranks.at(0), "trace ends").size(), 1u);
    EXPECT_TRUE(helps_of(ranks.at(1), "trace ends").empty()) << "rank 0 writes";
  }
  unlink(path.c_str());
}

TEST(Rails, WithoutAnyTheReasonIsTold) {
  const Rank rank(0, "here", {{"rail_include", "nosuch7"}});
  EXPECT_EQ(rank.result(), NEZHA_ERR_RAILS);
  EXPECT_NE(rank.why().find("names only what this node does not have: nosuch7; there are: "), std::string::npos) << rank.why();
  EXPECT_NE(rank.why().find("lo (127.0.0.1/8"), std::string::npos) << rank.why();
  EXPECT_TRUE(helps_of(rank, "no such rail").empty()) << "the reason has said it";
}

TEST(Rails, CarryTheirFixedShares) {
  Ranks ranks(2, {{"single_node", "2"}, {"share", "lo0:9,lo1:1,lo7:1"}, {"algorithm", "ring"}, {"chunk", "16k"}});
  const std::vector<HelpText> helps = helps_of(ranks.at(0), "no such share");
  ASSERT_EQ(helps.size(), 1u);
  EXPECT_EQ(helps[0].arguments[0], "lo7");
  Team team(ranks, "both");
  ASSERT_TRUE(team.start());
  // While a lane is suspect the other one carries its part, which on a busy machine happens without any fault; what it got
  // too much is made up for afterwards.
  const auto kept = [&](int rank) { return std::abs(share_of_first(ranks.at(rank)) - 0.9) < 0.02; };
  for (int round = 0; round < 50 && (round == 0 || !kept(0) || !kept(1)); ++round)
    for (int call = 0; call < 5; ++call) expect_it_works(ranks, team, 4000000);
  EXPECT_TRUE(kept(0)) << share_of_first(ranks.at(0));
  EXPECT_TRUE(kept(1)) << share_of_first(ranks.at(1));
}

}  // namespace
}  // namespace nezha::test
