// SPDX-License-Identifier: BSD-3-Clause
/// Fuzz target: every parser of parameters' text, alone and through nezha_config_set. The input is "name=value"; the
/// parsers see the value, all of them. What they accept must mean the same when it is written out and read again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "util/params.h"
#include "util/text.h"

#include "require.h"

namespace {

using namespace nezha;

/// One printable line.
bool fit_for_log(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string written(const InterfaceList& list) {
  std::string text;
  for (const InterfaceList::Pattern& pattern : list.patterns()) text += pattern.written() + ",";
  return text;
}

std::string written(const ShareList& list) {
  std::string text;
  for (const ShareList::Entry& entry : list.entries) {
    char number[64];
    std::snprintf(number, sizeof(number), "%.20f", entry.weight);
    text += entry.rail + ":" + number + " ,";
  }
  return text;
}

std::string written(const CoreList& list) {
  std::string text;
  for (const CoreList::Entry& entry : list.entries) text += entry.rail + "=" + cores_text(entry.cores) + ";";
  return text;
}

std::string written(const PortRange& range) {
  return range.any() ? "0" : std::to_string(range.low) + "-" + std::to_string(range.high);
}

void check_meaning(const InterfaceList& list) {
  for (const InterfaceList::Pattern& pattern : list.patterns()) {
    REQUIRE(list.match(pattern.family == 0 ? pattern.text : "/", pattern.family, pattern.block).has_value());
    REQUIRE(fit_for_log(pattern.written()));
    REQUIRE(pattern.kind.empty() || (list.names_kind(pattern.kind) && !list.of_kind(pattern.kind).empty()));
  }
}

void check_meaning(const ShareList& list) {
  for (const ShareList::Entry& entry : list.entries) {
    REQUIRE(entry.weight >= ShareList::kMinWeight && entry.weight <= ShareList::kMaxWeight);
    REQUIRE(list.weight(entry.rail) == entry.weight);
  }
}

void check_meaning(const CoreList& list) {
  for (const CoreList::Entry& entry : list.entries) {
    REQUIRE(!entry.cores.empty() && entry.cores.back() <= CoreList::kHighest);
    REQUIRE(std::adjacent_find(entry.cores.begin(), entry.cores.end(), std::greater_equal()) == entry.cores.end());
    REQUIRE(list.of(entry.rail) == &entry.cores);
  }
}

void check_meaning(const PortRange& range) {
  REQUIRE(range.low <= range.high && (range.low == 0) == (range.high == 0));
}

template <typename T>
void check_parser(std::string_view text) {
  T first, again;
  const Status status = parse(text, first);
  if (!status.ok()) {
    REQUIRE(first == T() && !status.text().empty() && fit_for_log(status.text()));
    return;
  }
  check_meaning(first);
  REQUIRE(parse(written(first), again).ok());
  REQUIRE(again == first);
}

void check_numbers(std::string_view text) {
  if (const auto size = parse_size(text)) REQUIRE(*size >= 0 && parse_size(size_text(*size)) == size);
  if (const auto number = parse_integer(text)) REQUIRE(parse_integer(std::to_string(*number)) == number);
  REQUIRE(fit_for_log(in_quotes(text)));
}

void check_set(nezha_config_t* config, const char* name, const char* value) {
  char why[128] = "";
  const int result = nezha_config_set(config, name, value, why, sizeof(why));
  REQUIRE(result == NEZHA_OK || result == NEZHA_ERR_PARAM);
  REQUIRE((result == NEZHA_OK) == (std::strlen(why) == 0) && fit_for_log(why));
}

/// The value for the parameter that the input names, and for every one there is.
void check_config(const std::string& name, const std::string& value) {
  nezha_config_t* const config = nezha_config_create();
  check_set(config, name.c_str(), value.c_str());
  size_t count = 0;
  const nezha_param_t* const rows = nezha_params(&count);
  for (size_t i = 0; i < count; ++i) check_set(config, rows[i].name, value.c_str());
  nezha_config_destroy(config);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t equals = input.find('=');
  const std::string_view value = equals == std::string_view::npos ? input : input.substr(equals + 1);
  check_parser<InterfaceList>(value);
  check_parser<ShareList>(value);
  check_parser<CoreList>(value);
  check_parser<PortRange>(value);
  check_numbers(value);
  check_config(std::string(input.substr(0, std::min(equals, size))), std::string(value));
  return 0;
}
