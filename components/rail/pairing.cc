// SPDX-License-Identifier: BSD-3-Clause
#include "rail/pairing.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>

namespace nezha {
namespace {

using Rails = std::span<const RailAddress>;
using Indices = std::vector<std::uint8_t>;
/// What two rails must share to be paired at all.
using Kind = std::pair<std::string, std::uint8_t>;
using Network = std::tuple<std::string, std::uint8_t, std::uint8_t, std::array<std::uint8_t, 16>>;

Kind kind_of(const RailAddress& rail) { return {rail.transport, rail.family}; }

Network network_of(const RailAddress& rail) {
  std::array<std::uint8_t, 16> network{};
  const std::size_t bits = std::min<std::size_t>(rail.prefix, rail.family == 4 ? 32 : 128);
  for (std::size_t bit = 0; bit < bits; ++bit) {
    network[bit / 8] = static_cast<std::uint8_t>(network[bit / 8] | (rail.address[bit / 8] & (0x80u >> (bit % 8))));
  }
  return {rail.transport, rail.family, static_cast<std::uint8_t>(bits), network};
}

bool loopback(const RailAddress& rail) {
  static constexpr std::array<std::uint8_t, 16> kLoopback6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return rail.family == 4 ? rail.address[0] == 127 : rail.family == 6 && rail.address == kLoopback6;
}

template <typename Key, typename KeyOf>
std::map<Key, Indices> grouped(Rails rails, const KeyOf& key_of) {
  std::map<Key, Indices> groups;
  for (std::size_t i = 0; i < rails.size(); ++i) groups[key_of(rails[i])].push_back(static_cast<std::uint8_t>(i));
  return groups;
}

/// i-th with i-th, the shorter list repeats.
void zip(const Indices& mine, const Indices& theirs, std::vector<RailPair>& pairs) {
  if (mine.empty() || theirs.empty()) return;
  for (std::size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
    pairs.push_back({mine[i % mine.size()], theirs[i % theirs.size()]});
  }
}

/// The rails whose network is not among `others`, by kind and in their own order.
std::map<Kind, Indices> left_over(Rails rails, const std::map<Network, Indices>& others) {
  std::map<Kind, Indices> rest;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (others.count(network_of(rails[i])) == 0) rest[kind_of(rails[i])].push_back(static_cast<std::uint8_t>(i));
  }
  return rest;
}

/// Of all kinds that both have, the one whose first rails come earliest in the two lists taken together.
std::vector<RailPair> first_rails(Rails mine, Rails theirs) {
  std::vector<RailPair> best;
  const auto others = grouped<Kind>(theirs, kind_of);
  for (const auto& [kind, indices] : grouped<Kind>(mine, kind_of)) {
    const auto other = others.find(kind);
    if (other == others.end()) continue;
    const RailPair pair{indices.front(), other->second.front()};
    if (best.empty() || pair.local + pair.remote < best.front().local + best.front().remote) best = {pair};
  }
  return best;
}

}  // namespace

std::vector<RailPair> pair_rails(Rails mine, Rails theirs, bool same_node) {
  mine = mine.first(std::min(mine.size(), kMaxRails));
  theirs = theirs.first(std::min(theirs.size(), kMaxRails));
  if (same_node && !(std::all_of(mine.begin(), mine.end(), loopback) &&
                     std::all_of(theirs.begin(), theirs.end(), loopback))) {
    return first_rails(mine, theirs);
  }
  const auto my_networks = grouped<Network>(mine, network_of);
  const auto their_networks = grouped<Network>(theirs, network_of);
  std::vector<RailPair> pairs;
  for (const auto& [network, indices] : my_networks) {
    const auto other = their_networks.find(network);
    if (other != their_networks.end()) zip(indices, other->second, pairs);
  }
  const auto their_rest = left_over(theirs, my_networks);
  for (const auto& [kind, indices] : left_over(mine, their_networks)) {
    const auto other = their_rest.find(kind);
    if (other != their_rest.end()) zip(indices, other->second, pairs);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace nezha
