// SPDX-License-Identifier: BSD-3-Clause
/// The names behind a RailSet: in a file those that it mentions, in a team those of its rank 0's rails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "util/rail_set.h"

namespace nezha {

/// "tcp/eth0"; the bits of a set go by the places in it.
using RailNames = std::vector<std::string>;

/// "tcp/eth0 and tcp/eth1"; a number where there is no name.
std::string text_of(RailSet rails, const RailNames& names);
/// The same rails by their places in `to`; none when one of them is not there.
std::optional<RailSet> renumbered(RailSet rails, const RailNames& from, const RailNames& to);

}  // namespace nezha
