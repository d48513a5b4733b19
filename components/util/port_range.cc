// SPDX-License-Identifier: BSD-3-Clause
#include "util/port_range.h"

#include <optional>

#include "util/text.h"

namespace nezha {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const std::optional<long long> port = parse_integer(trim(text));
  if (!port || *port < 1 || *port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

}  // namespace

Status parse(std::string_view text, PortRange& range) {
  const std::string_view word = trim(text);
  if (word == "0") {
    range = {};
    return {};
  }
  const std::size_t dash = word.find('-');
  if (dash != std::string_view::npos) {
    const std::optional<std::uint16_t> low = parse_port(word.substr(0, dash));
    const std::optional<std::uint16_t> high = parse_port(word.substr(dash + 1));
    if (low && high && *low <= *high) {
      range = {*low, *high};
      return {};
    }
  }
  return {Code::bad_parameter, in_quotes(word) +
                                   " is no range of ports; allowed are 0 (any port) and LOW-HIGH within 1 to 65535 "
                                   "(46000-46999)"};
}

}  // namespace nezha
