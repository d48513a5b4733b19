// SPDX-License-Identifier: BSD-3-Clause
/// JSON: what is read is what is there, with its place; what is not sound is refused with its place.
#include <gtest/gtest.h>

#include "util/json.h"

namespace nezha {
namespace {

Json parsed(std::string_view text, const JsonLimits& limits = {}) {
  Json document;
  const Status status = parse_json(text, limits, document);
  EXPECT_TRUE(status.ok()) << text << ": " << status.text();
  return document;
}

std::string refused(std::string_view text, const JsonLimits& limits = {}) {
  Json document = Json::of(std::uint64_t{7});
  const Status status = parse_json(text, limits, document);
  EXPECT_EQ(status.code(), Code::bad_parameter) << text;
  EXPECT_EQ(document.number, 7u) << "a bad text changes nothing";
  return status.text();
}

TEST(JsonText, EveryValueKnowsItsPlace) {
  const Json document = parsed("{\"a\": 12,\n  \"b\" :[ 1,\"x\\u00e9\" , {\n\t\"c\":null}],\"d\":-1 }");
  ASSERT_EQ(document.kind, Json::Kind::object);
  ASSERT_EQ(document.members.size(), 3u);
  EXPECT_EQ(text_of(document.place), "line 1, column 1");
  EXPECT_EQ(text_of(document.members[0].place), "line 1, column 2");
  EXPECT_EQ(text_of(document.members[0].value.place), "line 1, column 7");
  EXPECT_EQ(document.members[0].value.number, 12u);
  EXPECT_EQ(text_of(document.members[1].place), "line 2, column 3");
  const Json& list = document.members[1].value;
  EXPECT_EQ(text_of(list.place), "line 2, column 8");
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_EQ(text_of(list.items[0].place), "line 2, column 10");
  EXPECT_EQ(text_of(list.items[1].place), "line 2, column 12");
  EXPECT_EQ(list.items[1].text, "x\xc3\xa9");
  EXPECT_EQ(text_of(list.items[2].place), "line 2, column 24");
  EXPECT_EQ(text_of(list.items[2].members.at(0).place), "line 3, column 2");
  EXPECT_EQ(list.items[2].members.at(0).value.kind, Json::Kind::other);
  EXPECT_EQ(text_of(document.members[2].place), "line 3, column 13");
  EXPECT_EQ(text_of(document.members[2].value.place), "line 3, column 17");
  EXPECT_EQ(document.members[2].value.kind, Json::Kind::other) << "a negative number";
}

TEST(JsonText, AWordAlone) {
  EXPECT_EQ(parsed(" \"inf\"\n").text, "inf");
  EXPECT_EQ(parsed("18446744073709551615").number, ~std::uint64_t{0});
  EXPECT_EQ(parsed("1.5").kind, Json::Kind::other);
  EXPECT_EQ(parsed("[]").kind, Json::Kind::list);
}

TEST(JsonText, WhatIsNotSoundIsRefusedWithItsPlace) {
  EXPECT_EQ(refused("{\"a\": 1,\n \"a\": 2}"), "line 2, column 2: the key \"a\" is there twice");
  EXPECT_EQ(refused("{\n  \"a\" 1}").substr(0, 17), "line 2, column 7:");
  EXPECT_EQ(refused("[1,\n2,\n]").substr(0, 17), "line 3, column 1:");
  EXPECT_EQ(refused("[1] 2").substr(0, 17), "line 1, column 5:");
  EXPECT_EQ(refused("[1,,2]").substr(0, 17), "line 1, column 4:");
  EXPECT_EQ(refused("{\"a\": \"b\n").substr(0, 17), "line 1, column 7:") << "where the text begins that does not end";
  EXPECT_NE(refused("[\"\xff\"]").find("UTF-8"), std::string::npos);
  EXPECT_NE(refused("").find("line 1, column 1: "), std::string::npos);
  EXPECT_NE(refused("[1").find("line 1, column "), std::string::npos);
  EXPECT_NE(refused("// words\n1").find("line 1, column 1: "), std::string::npos) << "JSON has no comments";
  EXPECT_NE(refused("1e999").find("1e999"), std::string::npos);
  EXPECT_EQ(refused("nul\n").find('\n'), std::string::npos);
}

TEST(JsonText, MoreThanIsAllowedIsRefused) {
  const JsonLimits limits{.bytes = 100, .depth = 3, .members = 2, .text = 5, .values = 6};
  EXPECT_EQ(refused(std::string(101, ' '), limits), "101 bytes, 100 are allowed");
  EXPECT_EQ(refused("[[\n[[]]]]", limits), "line 2, column 2: values may lie 3 deep at most");
  EXPECT_EQ(refused("{\"a\":1,\"b\":2,\"c\":3}", limits), "line 1, column 14: an object may have 2 keys at most");
  EXPECT_EQ(refused("[\"123456\"]", limits), "line 1, column 2: a text may have 5 bytes at most");
  EXPECT_EQ(refused("{\"123456\":1}", limits), "line 1, column 2: a text may have 5 bytes at most");
  parsed("[1,[2,{\"a\":3}]]", limits);
  EXPECT_EQ(refused("[1,[2,{\"a\":3}],4]", limits), "line 1, column 16: there may be 6 values at most");
  EXPECT_EQ(refused("[1,2,3,4,5,[]]", limits), "line 1, column 12: there may be 6 values at most");
  std::string flat = "[0";
  for (int i = 0; i < 200000; ++i) flat += ",0";
  EXPECT_EQ(refused(flat + "]"), "line 1, column 262144: there may be 131072 values at most");
  const std::string deep(500000, '[');
  EXPECT_EQ(refused(deep), "line 1, column 17: values may lie 16 deep at most");
}

TEST(JsonText, WhatIsWrittenReadsTheSame) {
  Json document = Json::object();
  document.add("z", Json::of(std::uint64_t{1}));
  Json& list = document.add("a", Json::list());
  list.items.push_back(Json::of("quote \" and \\ and \n"));
  list.items.push_back(Json::object());
  const std::string text = write_json(document);
  EXPECT_EQ(text, "{\n  \"z\": 1,\n  \"a\": [\n    \"quote \\\" and \\\\ and \\n\",\n    {}\n  ]\n}\n");
  EXPECT_EQ(write_json(parsed(text)), text);
  EXPECT_EQ(write_json(Json::of("\xff")), "\"\xef\xbf\xbd\"\n");
}

}  // namespace
}  // namespace nezha
