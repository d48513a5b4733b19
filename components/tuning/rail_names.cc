// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/rail_names.h"

#include <algorithm>

namespace nezha {

std::string text_of(RailSet rails, const RailNames& names) {
  std::string text;
  for (std::size_t rail = 0; rails >> rail != 0; ++rail)
    if (has(rails, rail))
      text += (text.empty() ? "" : " and ") + (rail < names.size() ? names[rail] : "rail " + std::to_string(rail));
  return text;
}

std::optional<RailSet> renumbered(RailSet rails, const RailNames& from, const RailNames& to) {
  RailSet result = 0;
  for (std::size_t rail = 0; rails >> rail != 0; ++rail) {
    if (!has(rails, rail)) continue;
    const auto found = rail < from.size() ? std::find(to.begin(), to.end(), from[rail]) : to.end();
    if (found == to.end()) return std::nullopt;
    result |= only(static_cast<std::size_t>(found - to.begin()));
  }
  return result;
}

}  // namespace nezha
