// SPDX-License-Identifier: BSD-3-Clause
#include "util/collective.h"

#include <algorithm>
#include <array>
#include <string>

#include "util/text.h"

namespace nezha {
namespace {

/// In the order of Collective.
constexpr std::array<std::string_view, 6> kNames{"allreduce", "reduce_scatter", "allgather", "bcast", "reduce", "barrier"};
constexpr unsigned kAll = (1u << kNames.size()) - 1;
/// Of barriers and allreduces there are no large vectors that are left to Open MPI.
constexpr unsigned kLarge = kAll & ~(1u << static_cast<unsigned>(Collective::allreduce) | 1u << static_cast<unsigned>(Collective::barrier));

std::string_view trimmed(std::string_view word) {
  while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
  while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
  return word;
}

}  // namespace

std::string_view name_of(Collective collective) { return kNames[static_cast<std::size_t>(collective)]; }

Status parse(std::string_view text, CollectiveSet& set) {
  CollectiveSet found;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = trimmed(text.substr(0, comma));
    const auto* name = std::find(kNames.begin(), kNames.end(), word);
    if (word == "all")
      found.bits |= kAll;
    else if (word == "auto")
      found.large = kLarge;
    else if (name != kNames.end())
      found.bits |= 1u << (name - kNames.begin());
    else
      return {Code::bad_parameter,
              in_quotes(word) + " is none of allreduce, reduce_scatter, allgather, bcast, reduce, barrier, all and auto"};
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  set = found;
  return {};
}

}  // namespace nezha
