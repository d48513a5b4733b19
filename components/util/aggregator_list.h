// SPDX-License-Identifier: BSD-3-Clause
/// The parameters that name aggregators and say how much goes through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace nezha {

struct AggregatorList {
  /// One more costs each agreement two words.
  static constexpr std::size_t kMost = 4;

  struct Entry {
    std::string host;  ///< a name, or an address without brackets
    std::uint16_t port = 0;

    /// "node7:4711", "[fd00::7]:4711"
    std::string text() const;
    bool operator==(const Entry&) const = default;
  };

  std::vector<Entry> entries;

  bool empty() const { return entries.empty(); }
  bool operator==(const AggregatorList&) const = default;
};

/// HOST:PORT pairs separated by commas, an IPv6 address in brackets. `list` is unchanged on an error, whose text names the bad
/// word and what is allowed.
Status parse(std::string_view text, AggregatorList& list);

/// How much of a vector goes through an aggregator.
struct AggregatorShare {
  static constexpr int kAuto = -1;
  int per_cent = kAuto;

  bool operator==(const AggregatorShare&) const = default;
};

/// "auto", or 0 to 100. `share` is unchanged on an error.
Status parse(std::string_view text, AggregatorShare& share);

}  // namespace nezha
