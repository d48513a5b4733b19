// SPDX-License-Identifier: BSD-3-Clause
/// Answers of the engine, for the nezha command: what the component would do on this node, without a job.
///
///   nezha_ask rails [NAME=VALUE...]   which interfaces become rails with these parameters, and which do not, why; what the
///                                     aggregators that they name answer
///   nezha_ask lanes ADDRESS/BITS,... ADDRESS/BITS,...   which rails of one node are paired with which of another, by number
///   nezha_ask memory                    how ranks of this node would share memory, and why not better
///   nezha_ask table FILE                what a table of the component holds, or "refused" and why
///
/// Parameters are named without coll_nezha_; btl_tcp_if_include and btl_tcp_if_exclude are what Open MPI's own TCP was told.
/// An answer is a line per fact, its fields between tabs, the kind of fact first. Exit status 2: wrong arguments.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ask_facts.h"
#include "ask_memory.h"
#include "ask_rails.h"
#include "nezha/nezha.h"
#include "rail/pairing.h"
#include "rail/tcp/tcp_place.h"
#include "tuning/table_file.h"
#include "util/params.h"

namespace {

using nezha::fact;
using Config = std::unique_ptr<nezha_config_t, decltype(&nezha_config_destroy)>;

std::string default_of(std::string_view name) {
  std::size_t count = 0;
  const nezha_param_t* rows = nezha_params(&count);
  for (const nezha_param_t& row : std::span(rows, count))
    if (name == row.name) return row.fallback;
  return {};
}

/// "trouble NAME VALUE REASON DEFAULT" for what is not allowed: the component, too, goes on with the default.
void set(nezha_config_t& config, const std::string& name, const std::string& value) {
  char why[512] = "";
  if (nezha_config_set(&config, name.c_str(), value.c_str(), why, sizeof why) != NEZHA_OK)
    fact({"trouble", name, value, why, default_of(name)});
}

/// False: an argument is not of the form NAME=VALUE.
bool configure(nezha_config_t& config, std::span<char*> arguments) {
  std::string inherited[2];
  for (const char* argument : arguments) {
    const char* equals = std::strchr(argument, '=');
    if (equals == nullptr) {
      std::fprintf(stderr, "nezha_ask: '%s': NAME=VALUE is allowed\n", argument);
      return false;
    }
    const std::string name(argument, equals);
    if (name == "btl_tcp_if_include")
      inherited[0] = equals + 1;
    else if (name == "btl_tcp_if_exclude")
      inherited[1] = equals + 1;
    else
      set(config, name, equals + 1);
  }
  char why[512] = "";
  if (nezha_config_inherit(&config, inherited[0].c_str(), inherited[1].c_str(), why, sizeof why) != NEZHA_OK) {
    const bool included = !inherited[0].empty();
    fact({"trouble", included ? "btl_tcp_if_include" : "btl_tcp_if_exclude", inherited[included ? 0 : 1], why, ""});
  }
  return true;
}

/// The rails at these addresses. False: one is no address.
bool read_rails(std::string_view text, std::vector<nezha::RailAddress>& rails) {
  nezha::InterfaceList list;
  if (!nezha::parse(text, list).ok()) return false;
  for (const nezha::InterfaceList::Pattern& pattern : list.patterns()) {
    if (pattern.family == 0) return false;
    rails.push_back(nezha::tcp_address({"", "", pattern.family, pattern.block, pattern.prefix, 0}, 0));
  }
  return true;
}

int lanes(const char* mine, const char* theirs) {
  std::vector<nezha::RailAddress> one, other;
  if (!read_rails(mine, one) || !read_rails(theirs, other)) {
    std::fprintf(stderr, "nezha_ask: '%s', '%s': ADDRESS/BITS,... is allowed\n", mine, theirs);
    return 2;
  }
  for (const nezha::RailPair& pair : nezha::pair_rails(one, other))
    fact({"lane", std::to_string(pair.local), std::to_string(pair.remote)});
  return 0;
}

std::string limit(int number) { return number == nezha::Range::kNoLimit ? "inf" : std::to_string(number); }

/// As text_of(), with rails in the order of their names, so that it is alike for ways that are.
std::string way_text(nezha::Candidate way, const nezha::RailNames& names) {
  nezha::RailNames sorted = names;
  std::sort(sorted.begin(), sorted.end());
  way.rails = nezha::renumbered(way.rails, names, sorted).value();
  return text_of(way, sorted);
}

void print(const nezha::Rule& rule, const nezha::RailNames& names) {
  const bool endless = rule.last + 1 >= nezha::kSizeClasses;
  fact({"rule", std::to_string(rule.first == 0 ? 0 : std::size_t{1} << rule.first),
        endless ? "inf" : std::to_string((std::size_t{2} << rule.last) - 1), way_text(rule.chosen, names), std::to_string(rule.calls)});
  for (const nezha::Measured& way : rule.measured) fact({"measured", way_text(way.way, names), std::to_string(way.time)});
  for (const nezha::RailShare& share : rule.shares) fact({"share", share.rail, std::to_string(share.share)});
}

int memory() {
  const nezha::MemoryAnswer answer = nezha::ask_memory();
  fact({"memory", answer.way, answer.why});
  return 0;
}

int table(const char* path) {
  std::FILE* const file = std::fopen(path, "re");
  std::string text(nezha::TableFile::kMostBytes + 1, '\0');
  if (file != nullptr) text.resize(std::fread(text.data(), 1, text.size(), file));
  if (file == nullptr || std::ferror(file) != 0) {
    std::fprintf(stderr, "nezha_ask: %s: %s\n", path, std::strerror(errno));
    if (file != nullptr) std::fclose(file);
    return 1;
  }
  std::fclose(file);
  nezha::TableFile table;
  if (const nezha::Status status = nezha::parse_table(text, table); !status.ok()) {
    fact({"refused", status.text()});
    return 0;
  }
  for (const nezha::ShapeRules& shape : table.shapes) {
    fact({"communicator", std::to_string(shape.ranks.least), limit(shape.ranks.most), std::to_string(shape.nodes.least),
          limit(shape.nodes.most)});
    for (const nezha::Rule& rule : shape.rules) print(rule, table.rails);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "lanes") == 0) return lanes(argv[2], argv[3]);
  if (argc == 3 && std::strcmp(argv[1], "table") == 0) return table(argv[2]);
  if (argc == 2 && std::strcmp(argv[1], "memory") == 0) return memory();
  const Config config(nezha_config_create(), nezha_config_destroy);
  if (argc < 2 || std::strcmp(argv[1], "rails") != 0) {
    std::fprintf(stderr, "usage: %s rails [NAME=VALUE...] | lanes ADDRESS/BITS,... ADDRESS/BITS,... | memory | table FILE\n", argv[0]);
    return 2;
  }
  if (!config || !configure(*config, std::span(argv + 2, argv + argc))) return 2;
  fact({"version", NEZHA_VERSION});
  return nezha::ask_rails(*config);
}
