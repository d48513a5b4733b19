// SPDX-License-Identifier: BSD-3-Clause
/// Table files of engines: rank 0's decides for all, what was learned is saved, read again and then known.
#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <utility>

#include "ranks.h"

namespace nezha::test {
namespace {

constexpr int kRanks = 3;
constexpr std::size_t kBytes = 64 * 1024;

class Tables : public testing::Test {
 protected:
  Tables() {
    std::string name = testing::TempDir() + "nezha-tables-XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~Tables() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  /// A table that has `algorithm` for every size and communicator.
  std::string table(const std::string& algorithm) const {
    return file(algorithm, R"({"rule_file_version": 1, "module": "nezha", "collectives": {"allreduce": [
        {"rules": [{"alg": ")" +
                               algorithm + "\"}]}]}}");
  }
  static std::string contents(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  std::string directory_;
};

/// Calls on all ranks; how many of rank 0's were left to the incumbent, which is a sum in memory here: all ranks send
/// the same.
int run(Ranks& ranks, Team& team, int calls) {
  std::vector<int> left(static_cast<std::size_t>(ranks.size()));
  ranks.run([&](int rank) {
    for (int i = 0; i < calls; ++i) {
      const std::size_t count = kBytes / sizeof(std::int64_t);
      std::vector<std::int64_t> send(count, i), recv(count, -1);
      const nezha_call_t call{NEZHA_ALLREDUCE, send.data(), recv.data(), count,  sizeof(std::int64_t),
                                   NEZHA_INT64, NEZHA_SUM,   nullptr, nullptr, 0, 0};
      const int result = team.allreduce(rank, call);
      if (result == NEZHA_USE_INCUMBENT) {
        nezha_incumbent_done(team.handle(rank), NEZHA_ALLREDUCE);
        ++left[static_cast<std::size_t>(rank)];
        continue;
      }
      ASSERT_EQ(result, NEZHA_OK);
      ASSERT_EQ(recv, std::vector<std::int64_t>(count, std::int64_t{ranks.size()} * i));
    }
  });
  for (const int each : left) EXPECT_EQ(each, left[0]) << "all ranks go the same way";
  return left[0];
}

const HelpText* told(Ranks& ranks, int rank, const std::string& topic) {
  static std::vector<HelpText> texts;
  texts = ranks.at(rank).helps();
  for (const HelpText& text : texts)
    if (text.topic == topic) return &text;
  return nullptr;
}

TEST_F(Tables, RankZerosFileDecides) {
  const std::string left = table("incumbent"), carried = table("ring");
  for (const bool first_leaves : {true, false}) {
    const std::string own = first_leaves ? left : carried, other = first_leaves ? carried : left;
    Ranks ranks(kRanks, [&](int rank) {
      Settings settings{{"single_node", "2"}, {"learn", "0"}, {"table", rank == 0 ? own : other}};
      if (rank == 2) settings.pop_back();
      return settings;
    });
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    EXPECT_EQ(run(ranks, team, 20), first_leaves ? 20 : 0);
    EXPECT_EQ(told(ranks, 0, "parameters differ"), nullptr);
    ASSERT_NE(told(ranks, 1, "parameters differ"), nullptr);
    EXPECT_EQ(told(ranks, 1, "parameters differ")->arguments.at(1), "1");
    EXPECT_EQ(told(ranks, 2, "parameters differ"), nullptr) << "it has none that could differ";
  }
}

TEST_F(Tables, OnlyRankZeroHasOneOrNot) {
  const std::string left = table("incumbent");
  for (const int owner : {0, 1}) {
    Ranks ranks(kRanks, [&](int rank) {
      Settings settings{{"single_node", "2"}, {"learn", "0"}};
      if (rank == owner) settings.emplace_back("table", left);
      return settings;
    });
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    EXPECT_EQ(run(ranks, team, 20), owner == 0 ? 20 : 0);
    EXPECT_EQ(told(ranks, 1, "parameters differ") != nullptr, owner == 1);
  }
}

TEST_F(Tables, AFileThatIsNotSoundIsToldOnceAndNotUsed) {
  const std::string bad = file("bad", "{\"rule_file_version\": 1,\n \"module\": \"tuned\"}");
  Ranks ranks(kRanks, {{"single_node", "2"}, {"learn", "0"}, {"table", bad}});
  Team team(ranks, "everybody"), again(ranks, "again");
  ASSERT_TRUE(team.start());
  ASSERT_TRUE(again.start());
  EXPECT_EQ(run(ranks, team, 20), 0);
  int texts = 0;
  for (const HelpText& text : ranks.at(0).helps()) texts += text.topic == "table refused" ? 1 : 0;
  EXPECT_EQ(texts, 1);
  EXPECT_EQ(told(ranks, 0, "table refused")->arguments.at(0), bad);
  EXPECT_EQ(told(ranks, 0, "table refused")->arguments.at(2),
            "line 2, column 12: this is a file for \"tuned\", not for \"nezha\"");
  EXPECT_EQ(told(ranks, 1, "table refused"), nullptr);
}

TEST_F(Tables, ReproducibleTellsWhatItDoesNotUse) {
  Ranks ranks(kRanks, {{"single_node", "2"}, {"learn", "0"}, {"reproducible", "1"}, {"table", table("incumbent")}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  EXPECT_EQ(run(ranks, team, 5), 0);
  ASSERT_NE(told(ranks, 0, "table partly used"), nullptr);
  EXPECT_EQ(told(ranks, 0, "table partly used")->arguments.at(2), "48");
}

TEST_F(Tables, WhatWasLearnedIsSavedAndThenKnown) {
  const std::string learned = path("learned");
  const Settings settings{
      {"single_node", "2"}, {"learn", "1"}, {"verbose", "1"}, {"table", learned}, {"table_save", learned}};
  {
    Ranks ranks(kRanks, settings);
    Team team(ranks, "everybody");
    ASSERT_TRUE(team.start());
    run(ranks, team, 60);
    for (int rank = kRanks - 1; rank >= 0; --rank) {
      EXPECT_FALSE(std::filesystem::exists(learned)) << "rank 0 writes";
      nezha_engine_ending(ranks.at(rank).engine(), 1);
    }
    EXPECT_TRUE(ranks.at(0).helps().empty()) << "neither of its absence before nor of its end";
  }
  const std::string text = contents(learned);
  for (const char* words :
       {"\"msg_size_min\": 65536", "\"comm_size_min\": 3", "\"time_ns\": ", "\"tcp/lo0\": ", "\"calls\": 60"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in " << text;
  EXPECT_EQ(files(), 1u);

  Ranks ranks(kRanks, settings);
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  const int left = run(ranks, team, 60);
  EXPECT_TRUE(left == 0 || left == 60) << "nothing is tried";
  bool known = false;
  for (const std::string& line : ranks.at(0).lines()) {
    known = known || line.find("1 message sizes are known from " + learned) != std::string::npos;
    EXPECT_EQ(line.find("from 64k bytes"), std::string::npos) << "nothing is decided: " << line;
  }
  EXPECT_TRUE(known);
}

TEST_F(Tables, TeamsThatAreGoneAreSavedToo) {
  const std::string learned = path("learned");
  Ranks ranks(kRanks, {{"single_node", "2"}, {"learn", "1"}, {"table_save", learned}});
  {
    Team team(ranks, "some", {0, 2});
    ASSERT_TRUE(team.start());
    std::atomic<int> errors = 0;
    ranks.run([&](int rank) {
      if (!team.has(rank)) return;
      std::vector<std::int64_t> send(16, rank), recv(16);
      for (int i = 0; i < 60; ++i) {
        const nezha_call_t call{NEZHA_ALLREDUCE, send.data(), recv.data(), 16,     sizeof(std::int64_t),
                                     NEZHA_INT64, NEZHA_SUM,   nullptr, nullptr, 0, 0};
        const int result = team.allreduce(rank, call);
        if (result == NEZHA_USE_INCUMBENT) nezha_incumbent_done(team.handle(rank), NEZHA_ALLREDUCE);
        errors += result < 0 ? 1 : 0;
      }
    });
    EXPECT_EQ(errors, 0);
  }
  nezha_engine_ending(ranks.at(0).engine(), 1);
  EXPECT_NE(contents(learned).find("\"comm_size_max\": 2"), std::string::npos) << contents(learned);
}

TEST_F(Tables, JobsThatEndTogetherLoseNothing) {
  const std::string learned = path("learned");
  const Settings settings{{"single_node", "2"}, {"learn", "1"}, {"table_save", learned}};
  Ranks three(3, settings), two(2, settings);
  Team of_three(three, "three"), of_two(two, "two");
  ASSERT_TRUE(of_three.start());
  ASSERT_TRUE(of_two.start());
  run(three, of_three, 60);
  run(two, of_two, 60);
  for (int round = 0; round < 30; ++round) {
    std::filesystem::remove(learned);
    std::barrier together(2);
    const auto end = [&](Ranks& job) {
      together.arrive_and_wait();
      nezha_engine_ending(job.at(0).engine(), 1);
    };
    std::thread other(end, std::ref(two));
    end(three);
    other.join();
    const std::string text = contents(learned);
    for (const char* words : {"\"comm_size_max\": 2", "\"comm_size_max\": 3"})
      ASSERT_NE(text.find(words), std::string::npos) << "round " << round << ": " << words << " is not in " << text;
    ASSERT_EQ(files(), 1u) << "no lock is left behind";
  }
  EXPECT_TRUE(two.at(0).helps().empty());
}

TEST_F(Tables, AFileThatCannotBeWrittenIsToldAtTheStart) {
  const std::string nowhere = path("nowhere") + "/table", other = file("other", "# not ours\n");
  for (const auto& [name, reason] : {std::pair(nowhere, nowhere + ".lock cannot be made: No such file or directory"),
                                     std::pair(other, std::string("what is there cannot be read as a table: line 1, "))}) {
    Ranks ranks(2, {{"single_node", "2"}, {"table_save", name}});
    ASSERT_NE(told(ranks, 0, "table cannot be written"), nullptr);
    EXPECT_EQ(told(ranks, 0, "table cannot be written")->arguments.at(0), name);
    EXPECT_EQ(told(ranks, 0, "table cannot be written")->arguments.at(2).find(reason), 0u);
    EXPECT_EQ(told(ranks, 1, "table cannot be written"), nullptr) << "rank 0 writes";
  }
  EXPECT_EQ(contents(other), "# not ours\n");
  const std::string sound = table("ring"), before = contents(sound);
  Ranks ranks(2, {{"single_node", "2"}, {"table_save", sound}});
  EXPECT_TRUE(ranks.at(0).helps().empty());
  EXPECT_EQ(contents(sound), before);
  EXPECT_EQ(files(), 2u);
}

TEST_F(Tables, AnotherFileIsNotTouched) {
  const std::string other = file("other", "# not ours\n");
  Ranks ranks(kRanks, {{"single_node", "2"}, {"learn", "1"}, {"table_save", other}});
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  nezha_engine_ending(ranks.at(0).engine(), 1);
  ASSERT_NE(told(ranks, 0, "table not written"), nullptr);
  EXPECT_EQ(told(ranks, 0, "table not written")->arguments.at(2),
            "no message size was called often enough to be settled");
  run(ranks, team, 60);
  nezha_engine_ending(ranks.at(0).engine(), 1);
  EXPECT_EQ(contents(other), "# not ours\n");
  const std::vector<HelpText> texts = ranks.at(0).helps();
  EXPECT_EQ(texts.back().topic, "table not written");
  EXPECT_EQ(texts.back().arguments.at(2).find("what is there cannot be read as a table: line 1, column 1: "), 0u);
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace nezha::test
