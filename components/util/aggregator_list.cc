// SPDX-License-Identifier: BSD-3-Clause
#include "util/aggregator_list.h"

#include <algorithm>
#include <optional>

#include "util/text.h"

namespace nezha {
namespace {

constexpr long long kMostPort = 65535;

Status bad_word(std::string_view word, const std::string& reason) {
  return {Code::bad_parameter, in_quotes(word) + " " + reason +
                                   "; allowed are up to 4 pairs HOST:PORT separated by commas, an IPv6 address in "
                                   "brackets (node7:4711,[fd00::7]:4711)"};
}

bool plausible(std::string_view host) {
  return !host.empty() && host.find_first_of("[]") == std::string_view::npos &&
         std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

std::string AggregatorList::Entry::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Status parse(std::string_view text, AggregatorList& list) {
  AggregatorList parsed;
  for (const std::string_view word : words_of(text)) {
    const std::size_t colon = word.rfind(':');
    if (colon == std::string_view::npos) return bad_word(word, "has no ':'");
    std::string_view host = word.substr(0, colon);
    const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (brackets) host = host.substr(1, host.size() - 2);
    if (!plausible(host) || (!brackets && host.find(':') != std::string_view::npos))
      return bad_word(word, "names no host");
    const std::optional<long long> port = parse_integer(word.substr(colon + 1));
    if (!port || *port < 1 || *port > kMostPort) return bad_word(word, "has no port from 1 to 65535");
    parsed.entries.push_back({std::string(host), static_cast<std::uint16_t>(*port)});
    if (parsed.entries.size() > AggregatorList::kMost) return bad_word(word, "is one too many");
  }
  list = std::move(parsed);
  return {};
}

Status parse(std::string_view text, AggregatorShare& share) {
  if (text == "auto") {
    share = {};
    return {};
  }
  const std::optional<long long> number = parse_integer(text);
  if (!number || *number < 0 || *number > 100)
    return {Code::bad_parameter, in_quotes(text) + " is no share; allowed are auto, or per cent from 0 to 100"};
  share.per_cent = static_cast<int>(*number);
  return {};
}

}  // namespace nezha
