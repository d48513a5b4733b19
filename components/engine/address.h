// SPDX-License-Identifier: BSD-3-Clause
/// What a process publishes to the members of its job, and how it is written down.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "node/node_greeting.h"
#include "rail/rail.h"
#include "util/rail_set.h"
#include "util/status.h"

namespace nezha {

/// The rank of a process that is none: every rank connects to it.
constexpr std::uint32_t kNoRank = 0xffffffff;

struct Address {
  ProcessId id = 0;
  std::uint32_t job_rank = 0;
  std::string node;
  Secret key{};  ///< random; a pair's secret is made of both keys
  std::uint64_t window = 0;  ///< early bytes that this process keeps for each peer
  std::vector<RailAddress> rails;  ///< at most kMaxRails; none: its engine failed
  Loopback loopback;
  std::uint64_t tree = 0;  ///< that of a rack's aggregator, the same for all racks; 0 while it lacks its upstream one
  std::string upstream;    ///< of a rack's aggregator: where its upstream one is, or why it lacks it; at most 255 bytes
  RailSet near = 0;     ///< those of the rails whose NICs its processors are near
  NodeName acceptor{};  ///< where it hands out shared memory to ranks of its node; zeros: nowhere

  /// What sums come from: members that have the same number here get the same sums.
  std::uint64_t service() const { return tree != 0 ? tree : id; }
  /// It is a rack's aggregator, and cannot serve.
  bool cut_off() const { return tree == 0 && !upstream.empty(); }
  /// Of a rail by its number, or of the loopback.
  const RailAddress& at(std::uint8_t rail) const { return rail == kLoopbackRail ? loopback.address : rails[rail]; }
};

std::vector<std::byte> encode_address(const Address& address);

/// Reads untrusted bytes. The text of the status says what is wrong with them.
Status decode_address(std::span<const std::byte> bytes, Address& out);

}  // namespace nezha
