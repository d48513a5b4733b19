// SPDX-License-Identifier: BSD-3-Clause
/// The table as a file, in the form that nezha-table(5) describes. A file is untrusted: it is taken whole or refused,
/// with the place and the reason. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuning/candidate.h"
#include "tuning/candidates.h"
#include "util/status.h"

namespace nezha {

/// What parse_table takes, up to this version. Version 2 has ways that name rails, version 3 ways that say how many ranks of each node
/// carry; a file is of the first version that has all it needs.
constexpr std::uint64_t kTableVersion = 3;
constexpr std::uint64_t kTableVersionOfRails = 2, kTableVersionOfCarriers = 3;
constexpr std::string_view kTableModule = "nezha";
/// In the place of an upper limit.
constexpr std::string_view kNoLimitWord = "inf";
/// Which rails a way uses, unless it names them.
constexpr std::string_view kOneRailWord = "one", kAllRailsWord = "all";

/// What a team must be like for a table to hold for it.
struct Shape {
  int ranks = 0;
  int nodes = 0;

  bool operator==(const Shape&) const = default;
};

constexpr std::uint64_t kMostTime = std::uint64_t{86400} * 1000 * 1000 * 1000;  ///< a day

struct Measured {
  Candidate way;
  std::uint64_t time = 0;  ///< nanoseconds, at most kMostTime

  bool operator==(const Measured&) const = default;
};

struct RailShare {
  std::string rail;
  std::uint32_t share = 0;  ///< in 1/65536ths

  bool operator==(const RailShare&) const = default;
};

/// What is known of some size classes.
struct Rule {
  std::size_t first = 0, last = kSizeClasses - 1;  ///< classes, both included
  Candidate chosen;
  std::uint64_t calls = 0;
  std::vector<Measured> measured;  ///< at most kMostCandidates; only where first == last
  std::vector<RailShare> shares;

  bool operator==(const Rule&) const = default;
};

struct Range {
  static constexpr int kNoLimit = 0x7fffffff;
  int least = 0, most = kNoLimit;

  bool has(int number) const { return least <= number && number <= most; }
  bool operator==(const Range&) const = default;
};

struct ShapeRules {
  Range ranks, nodes;
  std::vector<Rule> rules;

  bool has(const Shape& shape) const { return ranks.has(shape.ranks) && nodes.has(shape.nodes); }
  bool operator==(const ShapeRules&) const = default;
};

struct TableFile {
  static constexpr std::size_t kMostBytes = 1024 * 1024;

  RailNames rails;  ///< that ways name, kMostRails at most
  std::vector<ShapeRules> shapes;

  /// The rules for teams of that shape: those of the first entry that fits; null when none does.
  const ShapeRules* find(const Shape& shape) const;
  /// Puts a rule for one size class of one shape in the place of what there was about these. `names`: of its ways' rails.
  /// False, and nothing is changed: the file would name too many.
  bool keep(const Shape& shape, Rule rule, const RailNames& names = {});

  bool operator==(const TableFile&) const = default;
};

/// The first rule that has the class; null when none has.
const Rule* find_rule(const ShapeRules& rules, std::size_t size_class);

/// On an error `file` is unchanged.
Status parse_table(std::string_view text, TableFile& file);
/// A text that parse_table takes.
std::string write_table(const TableFile& file);

}  // namespace nezha
