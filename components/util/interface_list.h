// SPDX-License-Identifier: BSD-3-Clause
/// A list of networks as a user writes it: interface names and address blocks ("eth0,10.1.0.0/16,fd00::/64"), each for one kind of
/// rail alone if that stands in front ("tcp/eth0", "verbs/mlx5_0:1").
/// Immutable after parsing; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace nezha {

class InterfaceList {
 public:
  /// One word of the list.
  struct Pattern {
    std::string kind;         ///< of rails, that it is for; empty: for all
    std::string text;         ///< as written behind the kind, without blanks; the interface's name when `family` is 0
    std::uint8_t family = 0;  ///< 4 or 6 of an address block, 0 of a name
    std::uint8_t prefix = 0;  ///< bits of `block` that count
    std::array<std::uint8_t, 16> block{};  ///< network byte order, IPv4 in the first four; other bits are 0

    std::string written() const { return kind.empty() ? text : kind + "/" + text; }
    bool operator==(const Pattern&) const = default;
  };

  /// Index of the first pattern that is this name or holds this address (`family` 4 or 6, `address` in network byte
  /// order with IPv4 in the first four; 0: only the name is compared). Kinds are not looked at.
  std::optional<std::size_t> match(std::string_view name, std::uint8_t family,
                                   const std::array<std::uint8_t, 16>& address) const;

  /// Those for rails of that kind: for all, or for it.
  InterfaceList of_kind(std::string_view kind) const;
  /// Those for rails of that kind alone.
  InterfaceList of_kind_alone(std::string_view kind) const;
  /// Some are for rails of that kind alone.
  bool names_kind(std::string_view kind) const;

  bool empty() const { return patterns_.empty(); }
  /// In the order of the list.
  const std::vector<Pattern>& patterns() const { return patterns_; }

  bool operator==(const InterfaceList&) const = default;

 private:
  friend Status parse(std::string_view text, InterfaceList& list);

  std::vector<Pattern> patterns_;
};

/// Names, blocks in CIDR form (bits beyond the prefix are ignored) and single addresses, separated by commas, with or without a
/// kind (small letters) and a slash in front, which may be one that nobody knows. A word
/// given twice is kept once. `list` is unchanged on an error, whose text names the bad word and what is allowed.
Status parse(std::string_view text, InterfaceList& list);

}  // namespace nezha
