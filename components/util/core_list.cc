// SPDX-License-Identifier: BSD-3-Clause
#include "util/core_list.h"

#include <algorithm>
#include <bitset>
#include <optional>

#include "util/text.h"

namespace nezha {
namespace {

using CoreSet = std::bitset<CoreList::kHighest + 1>;

Status bad_word(std::string_view word, const char* reason) {
  return {Code::bad_parameter, in_quotes(word) + " " + reason +
                                   "; allowed are RAIL=CORES separated by semicolons, with core numbers and ranges up to " +
                                   std::to_string(CoreList::kHighest) + " separated by commas (eth0=2-3;eth1=4,6)"};
}

std::optional<unsigned> parse_core(std::string_view text) {
  const std::optional<long long> core = parse_integer(trim(text));
  if (!core || *core < 0 || *core > CoreList::kHighest) return std::nullopt;
  return static_cast<unsigned>(*core);
}

/// Adds "4" or "2-3". False when it is neither.
bool add_range(std::string_view word, CoreSet& cores) {
  const std::size_t dash = word.find('-');
  const std::optional<unsigned> low = parse_core(word.substr(0, dash));
  const std::optional<unsigned> high = dash == std::string_view::npos ? low : parse_core(word.substr(dash + 1));
  if (!low || !high || *low > *high) return false;
  for (unsigned core = *low; core <= *high; ++core) cores.set(core);
  return true;
}

Cores numbers_of(const CoreSet& set) {
  Cores cores;
  for (unsigned core = 0; core < set.size(); ++core)
    if (set.test(core)) cores.push_back(core);
  return cores;
}

bool plausible_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

const Cores* CoreList::of(std::string_view name) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.rail == name; });
  return at == entries.end() ? nullptr : &at->cores;
}

Status parse(std::string_view text, CoreList& list) {
  CoreList parsed;
  for (const std::string_view word : words_of(text, ';')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return bad_word(word, "has no '='");
    const std::string_view rail = trim(word.substr(0, equals));
    if (!plausible_name(rail)) return bad_word(word, "does not name a rail");
    if (parsed.of(rail) != nullptr) return bad_word(word, "names its rail a second time");
    CoreSet cores;
    for (const std::string_view part : words_of(word.substr(equals + 1)))
      if (!add_range(part, cores)) return bad_word(part, "is no core and no range of cores");
    if (cores.none()) return bad_word(word, "names no core");
    parsed.entries.push_back({std::string(rail), numbers_of(cores)});
  }
  list = std::move(parsed);
  return {};
}

std::string cores_text(const Cores& cores) {
  std::string text;
  for (std::size_t first = 0, next = 0; first < cores.size(); first = next) {
    for (next = first + 1; next < cores.size() && cores[next] == cores[next - 1] + 1;) ++next;
    text += (text.empty() ? "" : ",") + std::to_string(cores[first]);
    if (next - first > 1) text += "-" + std::to_string(cores[next - 1]);
  }
  return text;
}

}  // namespace nezha
