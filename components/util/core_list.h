// SPDX-License-Identifier: BSD-3-Clause
/// Cores that a user set aside for rails: "eth0=2-3;eth1=4,6".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace nezha {

/// The kernel's numbers of processors ("processor" in /proc/cpuinfo), ascending, each once.
using Cores = std::vector<unsigned>;

struct CoreList {
  struct Entry {
    std::string rail;  ///< the rail's name without its transport ("eth0", "mlx5_0:1")
    Cores cores;       ///< one at least

    bool operator==(const Entry&) const = default;
  };
  static constexpr unsigned kHighest = 8191;  ///< core number

  std::vector<Entry> entries;  ///< in the order of the list, each rail once

  /// The cores of rail `name`; null when the list does not have it.
  const Cores* of(std::string_view name) const;

  bool operator==(const CoreList&) const = default;
};

/// RAIL=CORES separated by semicolons; CORES are numbers and ranges LOW-HIGH separated by commas. `list` is unchanged on
/// an error, whose text names the bad word and what is allowed.
Status parse(std::string_view text, CoreList& list);

/// "2-3,6", as parse takes it; empty for no cores.
std::string cores_text(const Cores& cores);

}  // namespace nezha
