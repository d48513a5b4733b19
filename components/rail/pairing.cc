// SPDX-License-Identifier: BSD-3-Clause
#include "rail/pairing.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace nezha {
namespace {

using Rails = std::span<const RailAddress>;
using Indices = std::vector<std::uint8_t>;
/// What two rails must share to be paired at all.
using Kind = std::pair<std::string, std::uint8_t>;
using Network = std::tuple<std::string, std::uint8_t, std::vector<std::byte>>;

Kind kind_of(const RailAddress& rail) { return {rail.transport, rail.family}; }

Network network_of(const RailAddress& rail) { return {rail.transport, rail.family, rail.network}; }

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

/// Both use the same NICs on both sides, and the other one does so better.
bool gives_way(const RailAddress& mine, const RailAddress& theirs, const RailAddress& my_other, const RailAddress& their_other) {
  if (mine.device.empty() || theirs.device.empty() || mine.transport == my_other.transport) return false;
  return mine.device == my_other.device && theirs.device == their_other.device && mine.precedence < my_other.precedence &&
         theirs.precedence < their_other.precedence;
}

void drop_shared_devices(Rails mine, Rails theirs, std::vector<RailPair>& pairs) {
  const std::vector<RailPair> all = pairs;
  std::erase_if(pairs, [&](const RailPair& pair) {
    return std::any_of(all.begin(), all.end(), [&](const RailPair& other) {
      return gives_way(mine[pair.local], theirs[pair.remote], mine[other.local], theirs[other.remote]);
    });
  });
}

}  // namespace

std::vector<RailPair> pair_rails(Rails mine, Rails theirs) {
  mine = mine.first(std::min(mine.size(), kMaxRails));
  theirs = theirs.first(std::min(theirs.size(), kMaxRails));
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
  drop_shared_devices(mine, theirs, pairs);
  return pairs;
}

bool share_loopback(const Loopback& mine, const Loopback& theirs) {
  return mine.network != 0 && mine.network == theirs.network && kind_of(mine.address) == kind_of(theirs.address);
}

bool live_apart(const Loopback& mine, const Loopback& theirs) {
  return mine.network != 0 && theirs.network != 0 && mine.network != theirs.network;
}

}  // namespace nezha
