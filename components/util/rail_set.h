// SPDX-License-Identifier: BSD-3-Clause
/// Some of at most 16 rails, one bit each, by their numbers in a list that goes with it. 0: nobody says which.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nezha {

using RailSet = std::uint16_t;

constexpr RailSet only(std::size_t rail) { return static_cast<RailSet>(1u << rail); }
constexpr bool has(RailSet rails, std::size_t rail) { return (rails >> rail & 1) != 0; }

}  // namespace nezha
