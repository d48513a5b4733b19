// SPDX-License-Identifier: BSD-3-Clause
/// The table of parameters and what it makes of text.
#include "util/params.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "util/text.h"

namespace nezha {
namespace {

std::span<const nezha_param_t> table() {
  size_t count = 0;
  const nezha_param_t* const rows = nezha_params(&count);
  return {rows, count};
}

std::vector<std::string> choices_of(const nezha_param_t& row) {
  std::vector<std::string> words(1);
  for (const char* c = row.choices; *c != '\0'; ++c) {
    if (*c == '|') {
      words.emplace_back();
    } else {
      words.back() += *c;
    }
  }
  return words;
}

/// A configuration through the C ABI.
class Handle {
 public:
  Handle() : handle_(nezha_config_create()) {}
  ~Handle() { nezha_config_destroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  int set(const char* name, const char* value) {
    why_[0] = '\0';
    return nezha_config_set(handle_, name, value, why_, sizeof(why_));
  }
  std::string why() const { return why_; }
  Config& config() { return config_of(*handle_); }

 private:
  nezha_config_t* handle_;
  char why_[512];
};

/// Text that the row must refuse.
std::vector<std::string> bad_values(const nezha_param_t& row) {
  switch (row.type) {
    case NEZHA_PARAM_BOOL: return {"", "2", "-1", "maybe", "1 0", "01"};
    case NEZHA_PARAM_INT:
      return {"", "many", "1.5", "0x1", "+1", "1k", "9223372036854775808", std::to_string(row.min - 1),
              std::to_string(row.max + 1)};
    case NEZHA_PARAM_SIZE:
      return {"", "k", "-1", "1.5k", "1kb", "1t", "9999999999999g", std::to_string(row.max + 1),
              row.min > 0 ? std::to_string(row.min - 1) : "-0"};
    case NEZHA_PARAM_CHOICE: return {"", "Auto", "auto|4", "auto,ring", "|", "none of them"};
    case NEZHA_PARAM_TEXT:
      if (std::string(row.choices) == "FILE") return {"\x01", "a\nb", std::string(5000, 'a')};  // any other may be a path
      return {"10.0.0.0/33", "a/b/c", "7-x y", "\x01"};
  }
  return {};
}

TEST(Params, EveryRowIsWholeAndItsDefaultAllowed) {
  std::set<std::string> names;
  for (const nezha_param_t& row : table()) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_EQ(std::string(row.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos);
    EXPECT_GT(std::strlen(row.help), 40u);
    EXPECT_EQ(row.help[std::strlen(row.help) - 1], '.');
    EXPECT_GE(row.level, 1);
    EXPECT_LE(row.level, 9);
    EXPECT_TRUE(row.decides == 0 || row.decides == 1);
    EXPECT_LE(row.min, row.max);
    if (row.type == NEZHA_PARAM_CHOICE || row.type == NEZHA_PARAM_TEXT) {
      EXPECT_NE(*row.choices, '\0');
    }
    Handle handle;
    EXPECT_EQ(handle.set(row.name, row.fallback), NEZHA_OK) << handle.why();
  }
  EXPECT_EQ(names.size(), 38u);
}

TEST(Params, DefaultsAreThoseOfTheTable) {
  Handle handle;
  const Config& config = handle.config();
  EXPECT_TRUE(config.enable);
  EXPECT_EQ(config.priority, 95);
  EXPECT_EQ(config.verbose, 0);
  EXPECT_FALSE(config.report);
  EXPECT_EQ(config.single_node, 0);
  EXPECT_TRUE(config.rail_include.empty());
  EXPECT_TRUE(config.rail_exclude.empty());
  EXPECT_EQ(config.ip_version, IpVersion::automatic);
  EXPECT_TRUE(config.port_range.any());
  EXPECT_TRUE(config.share.empty());
  EXPECT_EQ(config.algorithm, AlgorithmChoice::automatic);
  EXPECT_EQ(config.threshold, 0u);
  EXPECT_EQ(config.small_max, 16384u);
  EXPECT_EQ(config.mesh_block, 8192u);
  EXPECT_EQ(config.chunk, 0u);
  EXPECT_FALSE(config.reproducible);
  EXPECT_EQ(config.zero_copy, 0u);
  EXPECT_FALSE(config.checksum);
  EXPECT_EQ(config.timeout, 60);
  EXPECT_EQ(config.connect_timeout, 5);
  EXPECT_EQ(config.window, 0u);
}

TEST(Params, CollectivesAreNamedAsInMpi) {
  Handle handle;
  const auto bit = [](Collective collective) { return 1u << static_cast<unsigned>(collective); };
  EXPECT_EQ(handle.config().collectives.bits, 0u);
  EXPECT_EQ(handle.config().collectives.large, bit(Collective::reduce_scatter) | bit(Collective::allgather) |
                                                   bit(Collective::broadcast) | bit(Collective::reduce));
  EXPECT_EQ(handle.set("collectives", "bcast, barrier"), NEZHA_OK);
  EXPECT_EQ(handle.config().collectives.bits, bit(Collective::broadcast) | bit(Collective::barrier));
  EXPECT_EQ(handle.config().collectives.large, 0u);
  EXPECT_EQ(handle.set("collectives", "auto,barrier"), NEZHA_OK);
  EXPECT_EQ(handle.config().collectives.bits, bit(Collective::barrier));
  EXPECT_EQ(std::popcount(handle.config().collectives.large), 4);
  EXPECT_EQ(handle.set("collectives", "all"), NEZHA_OK);
  EXPECT_EQ(handle.config().collectives.bits, 63u);
  EXPECT_NE(handle.set("collectives", "bcast,alltoall"), NEZHA_OK);
  EXPECT_NE(std::string(handle.why()).find("\"alltoall\" is none of allreduce"), std::string::npos) << handle.why();
  EXPECT_EQ(handle.config().collectives.bits, 63u);
  EXPECT_EQ(handle.set("collectives", ""), NEZHA_OK);
  EXPECT_EQ(handle.config().collectives.bits, 0u);
}

TEST(Params, EachTypeIsRead) {
  Handle handle;
  Config& config = handle.config();
  EXPECT_EQ(handle.set("enable", " no\n"), NEZHA_OK);
  EXPECT_FALSE(config.enable);
  EXPECT_EQ(handle.set("report", "true"), NEZHA_OK);
  EXPECT_TRUE(config.report);
  EXPECT_EQ(handle.set("timeout", "86400"), NEZHA_OK);
  EXPECT_EQ(config.timeout, 86400);
  EXPECT_EQ(handle.set("window", "1M"), NEZHA_OK);
  EXPECT_EQ(config.window, 1048576u);
  EXPECT_EQ(handle.set("rail_include", "eth1, eth0"), NEZHA_OK);
  ASSERT_EQ(config.rail_include.patterns().size(), 2u);
  EXPECT_EQ(config.rail_include.patterns()[0].text, "eth1");
  EXPECT_EQ(handle.set("rail_include", ""), NEZHA_OK);
  EXPECT_TRUE(config.rail_include.empty());
  EXPECT_EQ(handle.set("port_range", "5000-5010"), NEZHA_OK);
  EXPECT_EQ(config.port_range, (PortRange{5000, 5010}));
  EXPECT_EQ(handle.set("share", "eth0:2,eth1:0.5"), NEZHA_OK);
  EXPECT_EQ(config.share.weight("eth1"), 0.5);
  EXPECT_EQ(handle.set("rail_threads", "1"), NEZHA_OK);
  EXPECT_EQ(config.rail_threads, RailThreads::all);
  EXPECT_EQ(handle.set("rail_cores", "eth0=2-3;eth1=4"), NEZHA_OK);
  EXPECT_EQ(*config.rail_cores.of("eth0"), (Cores{2, 3}));
}

/// Each word of a choice must reach the enumerator of the same meaning: their orders are kept by hand.
TEST(Params, ChoicesReachTheirEnumerators) {
  Handle handle;
  const std::pair<const char*, IpVersion> versions[] = {
      {"auto", IpVersion::automatic}, {"4", IpVersion::v4}, {"6", IpVersion::v6}};
  for (const auto& [word, version] : versions) {
    EXPECT_EQ(handle.set("ip_version", word), NEZHA_OK);
    EXPECT_EQ(handle.config().ip_version, version) << word;
  }
  const std::pair<const char*, AlgorithmChoice> algorithms[] = {
      {"auto", AlgorithmChoice::automatic},   {"ring", AlgorithmChoice::ring},
      {"mesh", AlgorithmChoice::mesh},        {"single_step", AlgorithmChoice::single_step},
      {"doubling", AlgorithmChoice::doubling}, {"halving", AlgorithmChoice::halving},
      {"incumbent", AlgorithmChoice::incumbent}};
  for (const auto& [word, algorithm] : algorithms) {
    EXPECT_EQ(handle.set("algorithm", word), NEZHA_OK);
    EXPECT_EQ(handle.config().algorithm, algorithm) << word;
  }
  for (const nezha_param_t& row : table()) {
    if (std::string(row.name) == "ip_version") {
      EXPECT_EQ(choices_of(row).size(), std::size(versions));
    }
    if (std::string(row.name) == "algorithm") {
      EXPECT_EQ(choices_of(row).size(), std::size(algorithms));
    }
  }
}

TEST(Params, BadTextChangesNothingAndSaysWhatIsAllowed) {
  for (const nezha_param_t& row : table()) {
    for (const std::string& value : bad_values(row)) {
      SCOPED_TRACE(std::string(row.name) + " = '" + value + "'");
      Handle handle;
      ASSERT_EQ(handle.set(row.name, value.c_str()), NEZHA_ERR_PARAM);
      EXPECT_EQ(handle.why().rfind(row.name, 0), 0u) << handle.why();
      if (row.type == NEZHA_PARAM_INT) {
        EXPECT_NE(handle.why().find(std::to_string(row.min) + " to " + std::to_string(row.max)), std::string::npos);
      } else if (row.type == NEZHA_PARAM_SIZE) {
        EXPECT_NE(handle.why().find(size_text(row.min) + " to " + size_text(row.max)), std::string::npos);
      } else if (row.type == NEZHA_PARAM_CHOICE) {
        EXPECT_NE(handle.why().find(row.choices), std::string::npos);
      }
    }
  }
  Handle handle;
  EXPECT_EQ(handle.set("chunk", "1"), NEZHA_ERR_PARAM);
  EXPECT_EQ(handle.why(), "chunk takes 0 or bytes from 512 to 256k (k, m, g: powers of 1024), not \"1\"");
  EXPECT_EQ(handle.set("chunk", "512"), NEZHA_OK);
  EXPECT_EQ(handle.set("chunk", "0"), NEZHA_OK);
  ASSERT_EQ(handle.set("share", "eth0:2"), NEZHA_OK);
  ASSERT_EQ(handle.set("timeout", "7"), NEZHA_OK);
  EXPECT_EQ(handle.set("share", "eth1:1,eth1:2"), NEZHA_ERR_PARAM);
  EXPECT_EQ(handle.set("timeout", "7s"), NEZHA_ERR_PARAM);
  EXPECT_EQ(handle.config().share.weight("eth0"), 2);
  EXPECT_EQ(handle.config().timeout, 7);
}

TEST(Params, NamesThatAreNoneAreRefused) {
  Handle handle;
  for (const char* name : {"", "Enable", "coll_nezha_enable", "enable "}) {
    EXPECT_EQ(handle.set(name, "1"), NEZHA_ERR_PARAM) << name;
    EXPECT_NE(handle.why().find("no parameter"), std::string::npos);
  }
}

TEST(Params, TheReasonIsCutToItsRoom) {
  nezha_config_t* const config = nezha_config_create();
  char why[9] = "????????";
  EXPECT_EQ(nezha_config_set(config, "timeout", "0", why, 8), NEZHA_ERR_PARAM);
  EXPECT_STREQ(why, "timeout");
  EXPECT_EQ(nezha_config_set(config, "timeout", "0", nullptr, 0), NEZHA_ERR_PARAM);
  nezha_config_destroy(config);
}

TEST(Params, InterfacesAreInheritedOnlyWhereNoneAreNamed) {
  nezha_config_t* const config = nezha_config_create();
  EXPECT_EQ(nezha_config_inherit(config, nullptr, "", nullptr, 0), NEZHA_OK);
  EXPECT_TRUE(config_of(*config).rail_include.empty());
  EXPECT_EQ(nezha_config_inherit(config, "eth1", "eth2", nullptr, 0), NEZHA_OK);
  ASSERT_EQ(config_of(*config).rail_include.patterns().size(), 1U);
  EXPECT_EQ(config_of(*config).rail_include.patterns()[0].text, "eth1");
  EXPECT_TRUE(config_of(*config).rail_exclude.empty());
  EXPECT_EQ(nezha_config_inherit(config, "eth3", nullptr, nullptr, 0), NEZHA_OK);
  EXPECT_EQ(config_of(*config).rail_include.patterns()[0].text, "eth1");
  nezha_config_destroy(config);
}

TEST(Params, AnExcludeListIsInheritedToo) {
  nezha_config_t* const config = nezha_config_create();
  EXPECT_EQ(nezha_config_inherit(config, "", "eth2", nullptr, 0), NEZHA_OK);
  EXPECT_FALSE(config_of(*config).rail_exclude.empty());
  EXPECT_EQ(nezha_config_inherit(config, "eth1", nullptr, nullptr, 0), NEZHA_OK);
  EXPECT_TRUE(config_of(*config).rail_include.empty());
  nezha_config_destroy(config);
}

TEST(Params, AListThatCannotBeInheritedIsTold) {
  nezha_config_t* const config = nezha_config_create();
  char why[256] = "";
  EXPECT_EQ(nezha_config_inherit(config, "a/b/c", "eth2", why, sizeof why), NEZHA_ERR_PARAM);
  EXPECT_EQ(std::string(why).rfind("rail_include: \"a/b/c\" has no IPv4", 0), 0u) << why;
  EXPECT_EQ(nezha_config_inherit(config, nullptr, "10.0.0.0/33", why, sizeof why), NEZHA_ERR_PARAM);
  EXPECT_EQ(std::string(why).rfind("rail_exclude: \"10.0.0.0/33\" has no number", 0), 0u) << why;
  EXPECT_TRUE(config_of(*config).rail_include.empty());
  EXPECT_TRUE(config_of(*config).rail_exclude.empty());
  nezha_config_destroy(config);
}

TEST(Params, TheNearestNameIsFound) {
  for (const nezha_param_t& row : table()) EXPECT_STREQ(nezha_params_nearest(row.name), row.name);
  EXPECT_STREQ(nezha_params_nearest("raill_include"), "rail_include");
  EXPECT_EQ(nezha_params_nearest("no_such_thing_at_all"), nullptr);
}

TEST(Params, WhatIsGivenIsKeptAsText) {
  Config config;
  EXPECT_TRUE(config.given.empty());
  EXPECT_TRUE(set_parameter(config, "learn", "1").ok()) << "the default";
  EXPECT_FALSE(set_parameter(config, "chunk", "much").ok());
  EXPECT_TRUE(config.given.empty());
  EXPECT_TRUE(set_parameter(config, "chunk", " 8k ").ok());
  EXPECT_TRUE(set_parameter(config, "chunk", "16k").ok());
  ASSERT_EQ(config.given.size(), 1u);
  EXPECT_EQ(config.given[0].name, "chunk");
  EXPECT_EQ(config.given[0].value, "16k");
}

}  // namespace
}  // namespace nezha
