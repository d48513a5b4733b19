// SPDX-License-Identifier: BSD-3-Clause
#include "util/share_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "util/text.h"

namespace nezha {
namespace {

Status bad_word(std::string_view word, const char* reason) {
  return {Code::bad_parameter, in_quotes(word) + " " + reason +
                                   "; allowed are pairs RAIL:WEIGHT separated by commas, with weights from 0.001 to "
                                   "1000000 (eth0:2,eth1:0.5)"};
}

std::optional<double> parse_weight(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double weight = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, weight, std::chars_format::fixed);
  if (error != std::errc() || rest != end) return std::nullopt;
  if (!(weight >= ShareList::kMinWeight && weight <= ShareList::kMaxWeight)) return std::nullopt;
  return weight;
}

bool plausible_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

double ShareList::weight(std::string_view name) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.rail == name; });
  return at == entries.end() ? 0 : at->weight;
}

Status parse(std::string_view text, ShareList& list) {
  ShareList parsed;
  for (const std::string_view word : words_of(text)) {
    const std::size_t colon = word.rfind(':');  // the last: a port of a device has one in its name
    if (colon == std::string_view::npos) return bad_word(word, "has no ':'");
    const std::string_view rail = trim(word.substr(0, colon));
    const std::optional<double> weight = parse_weight(trim(word.substr(colon + 1)));
    if (!plausible_name(rail)) return bad_word(word, "does not name a rail");
    if (!weight) return bad_word(word, "has no such weight");
    if (parsed.weight(rail) != 0) return bad_word(word, "names its rail a second time");
    parsed.entries.push_back({std::string(rail), *weight});
  }
  list = std::move(parsed);
  return {};
}

}  // namespace nezha
