// SPDX-License-Identifier: BSD-3-Clause
/// Shares that a user fixed: "eth0:2,eth1:1" gives the first rail twice as much as the second.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace nezha {

struct ShareList {
  struct Entry {
    std::string rail;  ///< the rail's name without its transport ("eth0", "mlx5_0:1")
    double weight;     ///< from kMinWeight to kMaxWeight; only the ratios count

    bool operator==(const Entry&) const = default;
  };
  static constexpr double kMinWeight = 1e-3;
  static constexpr double kMaxWeight = 1e6;

  std::vector<Entry> entries;  ///< in the order of the list, each rail once

  bool empty() const { return entries.empty(); }
  /// The weight of rail `name`; 0 when the list does not have it.
  double weight(std::string_view name) const;

  bool operator==(const ShareList&) const = default;
};

/// RAIL:WEIGHT pairs separated by commas; weights are positive decimals without sign or exponent. `list` is unchanged
/// on an error, whose text names the bad word and what is allowed.
Status parse(std::string_view text, ShareList& list);

}  // namespace nezha
