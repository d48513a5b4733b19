// SPDX-License-Identifier: BSD-3-Clause
/// The table as a file: what is written reads the same, what is not as nezha-table(5) says is refused with its place.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tuning/table_file.h"

namespace nezha {
namespace {

TableFile parsed(std::string_view text) {
  TableFile file;
  const Status status = parse_table(text, file);
  EXPECT_TRUE(status.ok()) << status.text();
  return file;
}

std::string refused(std::string_view text) {
  TableFile file;
  file.keep({2, 2}, {});
  const TableFile before = file;
  const Status status = parse_table(text, file);
  EXPECT_FALSE(status.ok()) << text;
  EXPECT_EQ(file, before) << "a bad file changes nothing";
  return status.text();
}

/// A file with that text as one communicator, which begins in column 3 of line 2.
std::string with_shape(const std::string& shape) {
  return "{\"rule_file_version\": 1, \"module\": \"nezha\", \"collectives\": {\"allreduce\": [\n  " + shape + "]}}";
}
/// A file with that text as one rule, in the same place.
std::string with_rule(const std::string& rule) { return with_shape("{\"rules\": [" + rule + "]}"); }
constexpr std::size_t kRuleColumn = 14;

Rule one_class(std::size_t size_class, AlgorithmChoice algorithm) {
  Rule rule;
  rule.first = rule.last = size_class;
  rule.chosen = {algorithm};
  return rule;
}

TEST(TableFile, ThatWasWrittenReadsTheSame) {
  TableFile file;
  Rule rule = one_class(16, AlgorithmChoice::ring);
  rule.chosen.chunk = 65536;
  rule.chosen.one_rail = true;
  rule.calls = 1234567890123;
  rule.measured = {{rule.chosen, 446000}, {{AlgorithmChoice::incumbent}, 702000}};
  rule.shares = {{"tcp/eth0", 32801}, {"tcp/eth1", 32735}};
  file.keep({4, 4}, rule);
  file.keep({4, 4}, one_class(0, AlgorithmChoice::doubling));
  file.keep({8, 2}, one_class(kSizeClasses - 1, AlgorithmChoice::mesh));
  Rule many = one_class(20, AlgorithmChoice::ring);
  many.last = kSizeClasses - 1;
  file.shapes.push_back({{5, Range::kNoLimit}, {}, {many}});
  const std::string text = write_table(file);
  EXPECT_EQ(parsed(text), file) << text;
  EXPECT_EQ(write_table(parsed(text)), text);
}

/// Of a file whose only way has that key, in its second line.
std::string refused_way(const std::string& key, const std::string& value, int version) {
  return refused("{\"module\": \"nezha\", \"rule_file_version\": " + std::to_string(version) +
                 ", \"collectives\": {\"allreduce\": [{\"rules\": [\n{\"alg\": \"ring\", \"" + key + "\": " + value + "}]}]}}");
}

const RailNames kNames = {"tcp/eth0", "tcp/eth1", "tcp/ib0"};

TEST(TableFile, ThatNamesRailsReadsTheSameAndIsOfVersion2) {
  TableFile file;
  Rule rule = one_class(16, AlgorithmChoice::ring);
  EXPECT_TRUE(file.keep({4, 4}, rule, kNames));
  EXPECT_NE(write_table(file).find("\"rule_file_version\": 1"), std::string::npos) << "as who knows no version 2 can read it";
  rule.chosen.rails = only(2);
  rule.measured = {{rule.chosen, 5}, {{AlgorithmChoice::mesh, 0, false, only(2) | only(0)}, 6}};
  EXPECT_TRUE(file.keep({4, 4}, rule, kNames));
  EXPECT_EQ(file.rails, (RailNames{"tcp/ib0", "tcp/eth0"})) << "those that are used, in their order";
  const std::string text = write_table(file);
  EXPECT_EQ(parsed(text), file) << text;
  EXPECT_NE(text.find("\"rule_file_version\": 2"), std::string::npos);
  const Rule& kept = *find_rule(*file.find({4, 4}), 16);
  EXPECT_EQ(text_of(kept.chosen, file.rails), "ring on tcp/ib0");
  EXPECT_EQ(text_of(kept.measured[1].way, file.rails), "mesh on tcp/ib0 and tcp/eth0");
}

TEST(TableFile, ThatCountsCarriersReadsTheSameAndIsOfVersion3) {
  TableFile file;
  Rule rule = one_class(17, AlgorithmChoice::mesh);
  rule.measured = {{rule.chosen, 5}, {{AlgorithmChoice::mesh, 0, false, 0, 2}, 6}};
  EXPECT_TRUE(file.keep({16, 4}, rule));
  const std::string text = write_table(file);
  EXPECT_NE(text.find("\"rule_file_version\": 3"), std::string::npos);
  EXPECT_EQ(parsed(text), file) << text;
  EXPECT_EQ(text_of(find_rule(*file.find({16, 4}), 17)->measured[1].way, {}), "mesh by 2 ranks of each node");
}

TEST(TableFile, CarriersThatAreNotSoundAreRefused) {
  const auto complaint = [](const std::string& carriers, int version = 3) { return refused_way("carriers", carriers, version); };
  EXPECT_EQ(complaint("1", 2), "line 2, column 29: carriers are counted from version 3 of the format on");
  EXPECT_EQ(complaint("65"), "line 2, column 29: a whole number from 0 to 64 is needed");
  EXPECT_EQ(complaint("\"all\""), "line 2, column 29: a whole number from 0 to 64 is needed");
}

TEST(TableFile, ThatWouldNameTooManyRailsKeepsWhatItHas) {
  TableFile file;
  Rule rule = one_class(3, AlgorithmChoice::ring);
  rule.chosen.rails = only(0);
  RailNames names(1);
  for (std::size_t i = 0; i < kMostRails; ++i) {
    names[0] = "tcp/eth" + std::to_string(i);
    rule.first = rule.last = i;
    EXPECT_TRUE(file.keep({2, 2}, rule, names));
  }
  const TableFile before = file;
  names[0] = "tcp/one-more";
  EXPECT_FALSE(file.keep({2, 2}, rule, names));
  EXPECT_EQ(file, before);
}

TEST(TableFile, RailsThatAreNotSoundAreRefused) {
  const auto complaint = [](const std::string& rails, int version = 2) { return refused_way("rails", rails, version); };
  EXPECT_EQ(complaint("[\"tcp/eth0\"]", 1), "line 2, column 26: rails are named from version 2 of the format on");
  EXPECT_EQ(complaint("[]"), "line 2, column 26: rails names none");
  EXPECT_EQ(complaint("[7]"), "line 2, column 27: a text of at most 256 bytes is needed");
  EXPECT_EQ(complaint("[\"\"]"), "line 2, column 27: a rail's name has 1 to 47 bytes");
  EXPECT_EQ(complaint("[\"" + std::string(48, 'x') + "\"]"), "line 2, column 27: a rail's name has 1 to 47 bytes");
  for (const char* name : {"eth 0", "eth\\u0000", "\\u001b[31meth0", "eth0\\n", "eth0\\u007f"})
    EXPECT_EQ(complaint("[\"" + std::string(name) + "\"]"),
              "line 2, column 27: a rail's name has no blanks and no control characters");
  EXPECT_EQ(complaint("[\"a\", \"b\", \"a\"]"), "line 2, column 37: the rail \"a\" is there twice");
  std::string many = "\"x\"";
  for (char letter = 'a'; letter < 'q'; ++letter) many += std::string(",\"") + letter + "\"";
  EXPECT_EQ(complaint("[" + many + "]"), "line 2, column 26: the list has more than 16 entries");
  EXPECT_EQ(complaint("[\"z\"]}, {\"alg\": \"ring\", \"rails\": [" + many.substr(4) + "]"),
            "line 2, column 120: a table names 16 rails at most");
}

TEST(TableFile, TheExampleOfTheManualIsOne) {
  std::ifstream in(NEZHA_TEST_TABLES "/learned.json");
  std::stringstream text;
  text << in.rdbuf();
  const TableFile file = parsed(text.str());
  ASSERT_EQ(file.shapes.size(), 2u);
  EXPECT_EQ(file.shapes[0].ranks, (Range{4, 4}));
  const Rule* rule = find_rule(file.shapes[0], 16);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->measured.at(1), (Measured{{AlgorithmChoice::incumbent}, 702000}));
  EXPECT_EQ(rule->shares.at(0), (RailShare{"tcp/eth0", 32801}));
  EXPECT_EQ(find_rule(file.shapes[0], 17), nullptr);
  EXPECT_EQ(file.find({1000, 7}), &file.shapes[1]);
  EXPECT_EQ(find_rule(file.shapes[1], 19), nullptr);
  EXPECT_NE(find_rule(file.shapes[1], 40), nullptr);
}

TEST(TableFile, TheFirstThatFitsCounts) {
  const TableFile file = parsed(with_shape(R"({"comm_size_min": 4, "comm_size_max": 8, "rules": [
      {"msg_size_max": 1023, "alg": "incumbent"}, {"alg": "mesh"}, {"alg": "ring"}]},
      {"comm_nodes_max": 2, "rules": []})"));
  EXPECT_EQ(file.find({4, 2}), &file.shapes[0]);
  EXPECT_EQ(file.find({9, 2}), &file.shapes[1]);
  EXPECT_EQ(file.find({9, 3}), nullptr);
  EXPECT_EQ(find_rule(file.shapes[0], 9)->chosen.algorithm, AlgorithmChoice::incumbent);
  EXPECT_EQ(find_rule(file.shapes[0], 10)->chosen.algorithm, AlgorithmChoice::mesh);
}

TEST(TableFile, WhatIsLearnedTakesThePlaceOfWhatWasKnown) {
  TableFile file = parsed(with_shape(R"({"comm_size_min": 3, "rules": [{"msg_size_min": 1024, "alg": "ring"}]},
      {"comm_size_min": 2, "comm_size_max": 2, "comm_nodes_min": 2, "comm_nodes_max": 2, "rules": []})"));
  file.keep({4, 4}, one_class(12, AlgorithmChoice::mesh));
  ASSERT_EQ(file.shapes.size(), 3u);
  const ShapeRules& rules = *file.find({4, 4});
  EXPECT_EQ(&rules, &file.shapes[0]) << "before the one that would have counted";
  EXPECT_EQ(find_rule(rules, 12)->chosen.algorithm, AlgorithmChoice::mesh);
  EXPECT_EQ(find_rule(rules, 11)->chosen.algorithm, AlgorithmChoice::ring) << "as before";
  EXPECT_EQ(find_rule(*file.find({4, 3}), 12)->chosen.algorithm, AlgorithmChoice::ring) << "other shapes as before";
  file.keep({4, 4}, one_class(12, AlgorithmChoice::single_step));
  file.keep({4, 4}, one_class(5, AlgorithmChoice::doubling));
  ASSERT_EQ(file.shapes.size(), 3u);
  ASSERT_EQ(file.shapes[0].rules.size(), 3u);
  EXPECT_EQ(file.shapes[0].rules[0], one_class(5, AlgorithmChoice::doubling)) << "by size";
  EXPECT_EQ(find_rule(file.shapes[0], 12)->chosen.algorithm, AlgorithmChoice::single_step);
}

TEST(TableFile, AFileForSomethingElseIsRefused) {
  EXPECT_EQ(refused(R"({"$schema": "x", "rule_file_version": 3, "module": "tuned", "collectives": {}})"),
            "line 1, column 52: this is a file for \"tuned\", not for \"nezha\"");
  EXPECT_EQ(refused(R"({"rule_file_version": 4, "module": "nezha", "more": 1, "collectives": {}})"),
            "line 1, column 23: this is version 4 of the format, known are 1 to 3");
  EXPECT_EQ(refused("[1]"), "line 1, column 1: a table is an object");
  EXPECT_EQ(refused("{}"), "line 1, column 1: the key \"module\" is missing");
  EXPECT_EQ(refused(R"({"module": "nezha"})"), "line 1, column 1: the key \"rule_file_version\" is missing");
  EXPECT_EQ(refused(R"({"module": "nezha", "rule_file_version": "1"})").substr(0, 18), "line 1, column 42:");
  EXPECT_EQ(refused(R"({"module": "nezha", "rule_file_version": 1})"),
            "line 1, column 1: the key \"collectives\" is missing");
  EXPECT_EQ(
      refused(R"({"module": "nezha", "rule_file_version": 1, "nezha_version": 2, "collectives": {}})").substr(0, 18),
      "line 1, column 62:");
  EXPECT_EQ(refused(R"({"module": "nezha", "rule_file_version": 1, "collectives": {"bcast": []}})"),
            "line 1, column 61: collectives has no key \"bcast\"");
  EXPECT_EQ(refused("").substr(0, 18), "line 1, column 1: ");
}

struct Bad {
  const char* text;
  const char* complaint;
};

TEST(TableFile, AShapeThatIsNotSoundIsRefused) {
  const Bad shapes[] = {
      {R"(7)", "line 2, column 3: a communicator is an object"},
      {R"({})", "line 2, column 3: the key \"rules\" is missing"},
      {R"({"rules": {}})", "line 2, column 13: a list is needed"},
      {R"({"ranks": 4, "rules": []})", "line 2, column 4: a communicator has no key \"ranks\""},
      {R"({"comm_size_min": -4, "rules": []})", "line 2, column 21: a whole number from 0 to 2147483647 is needed"},
      {R"({"comm_size_min": 4, "comm_size_max": 3, "rules": []})",
       "line 2, column 41: comm_size_max is less than comm_size_min"},
      {R"({"comm_nodes_max": "many", "rules": []})",
       "line 2, column 22: a whole number from 0 to 2147483647 is needed"},
      {R"({"comm_nodes_max": 4294967296, "rules": []})",
       "line 2, column 22: a whole number from 0 to 2147483647 is needed"},
      {R"({"rules": [], "rules": []})", "line 2, column 17: the key \"rules\" is there twice"},
  };
  for (const Bad& bad : shapes) EXPECT_EQ(refused(with_shape(bad.text)), bad.complaint) << bad.text;
  std::string many = "{\"rules\": []}";
  for (int i = 0; i < 256; ++i) many += ",{\"rules\": []}";
  EXPECT_EQ(refused(with_shape(many)), "line 1, column 74: the list has more than 256 entries");
}

TEST(TableFile, ARuleThatIsNotSoundIsRefused) {
  const Bad rules[] = {
      // columns count from the rule's beginning
      {R"([])", "0: a rule is an object"},
      {R"({})", "0: the key \"alg\" is missing"},
      {R"({"alg": "ring", "reqs": 8})", "16: a rule has no key \"reqs\""},
      {R"({"alg": 4})", "8: a text of at most 256 bytes is needed"},
      {R"({"alg": "auto"})", "8: alg takes one of ring, mesh, single_step, doubling, halving, incumbent, memory, not \"auto\""},
      {R"({"alg": "ring", "rails": "two"})", "25: rails takes one of one, all, or a list of names, not \"two\""},
      {R"({"alg": "ring", "chunk": 262145})", "25: a whole number from 0 to 262144 is needed"},
      {R"({"alg": "ring", "chunk": 1})", "25: a chunk has 512 bytes at least, or 0"},
      {R"({"alg": "ring", "calls": 1.5})", "25: a whole number from 0 to 18446744073709551615 is needed"},
      {R"({"alg": "ring", "msg_size_min": 1000})", "32: msg_size_min is 0 or a power of two, not 1000"},
      {R"({"alg": "ring", "msg_size_min": 281474976710656})", "32: a whole number from 0 to 140737488355328 is needed"},
      {R"({"alg": "ring", "msg_size_max": 1024})", "32: msg_size_max is one less than a power of two, not 1024"},
      {R"({"alg": "ring", "msg_size_max": 0})", "32: a whole number from 1 to 18446744073709551615 is needed"},
      {R"({"alg": "ring", "msg_size_min": 64, "msg_size_max": 63})", "52: msg_size_max is less than msg_size_min"},
      {R"({"alg": "ring", "measured": []})", "28: what was measured belongs to a single size class"},
      {R"({"alg": "ring", "shares": []})", "26: shares is an object"},
      {R"({"alg": "ring", "shares": {"": 1}})", "27: a rail's name has 1 to 47 bytes"},
      {R"({"alg": "ring", "shares": {"tcp/eth0": 65537}})", "39: a whole number from 0 to 65536 is needed"},
  };
  for (const Bad& bad : rules) {
    const std::string complaint = bad.complaint;
    const std::size_t colon = complaint.find(':');
    EXPECT_EQ(refused(with_rule(bad.text)),
              "line 2, column " + std::to_string(kRuleColumn + std::stoul(complaint)) + complaint.substr(colon))
        << bad.text;
  }
}

TEST(TableFile, AMeasurementThatIsNotSoundIsRefused) {
  const auto complaint = [](const std::string& measured) {
    return refused(with_rule("\n{\"alg\": \"ring\", \"msg_size_min\": 64, \"msg_size_max\": 127, \"measured\":\n[" +
                             measured + "]}"));
  };
  EXPECT_EQ(complaint("7"), "line 4, column 2: a way that was measured is an object");
  EXPECT_EQ(complaint(R"({"alg": "ring"})"), "line 4, column 2: the key \"time_ns\" is missing");
  EXPECT_EQ(complaint(R"({"time_ns": 1})"), "line 4, column 2: the key \"alg\" is missing");
  EXPECT_EQ(complaint(R"({"alg": "ring", "time_ns": 86400000000001})"),
            "line 4, column 29: a whole number from 0 to 86400000000000 is needed");
  EXPECT_EQ(complaint(R"({"alg": "ring", "time_ns": 1}, {"alg": "ring", "time_ns": 2})"),
            "line 4, column 33: this way is there twice");
  std::string many = R"({"alg": "ring", "time_ns": 1})";
  for (int chunk = 1; chunk <= 8; ++chunk)
    many += R"(,{"alg": "ring", "time_ns": 1, "chunk": )" + std::to_string(chunk) + "}";
  EXPECT_EQ(complaint(many), "line 4, column 1: the list has more than 8 entries");
}

}  // namespace
}  // namespace nezha
