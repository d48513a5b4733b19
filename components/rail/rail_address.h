// SPDX-License-Identifier: BSD-3-Clause
/// What a process publishes of one rail, and how it is written down: texts (a length u8 and the bytes) for transport, name and
/// device; family u8, precedence u8, speed u32; network and place, each as a length u8 and the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/byte_stream.h"
#include "util/status.h"

namespace nezha {

/// Limits of what is published, in bytes. A peer's address beyond them is refused.
constexpr std::size_t kMaxRailWord = 64;     ///< transport, name and device, each
constexpr std::size_t kMaxRailNetwork = 32;
constexpr std::size_t kMaxRailPlace = 96;
constexpr std::size_t kMaxRailAddress = 3 * (1 + kMaxRailWord) + 6 + 1 + kMaxRailNetwork + 1 + kMaxRailPlace;

/// Only `place` is for the transport alone; the rest decides which rails are joined (pairing.h), alike for all kinds. What
/// comes from a peer is untrusted: a transport checks a place before it uses it.
struct RailAddress {
  std::string transport;  ///< "tcp"
  std::string name;       ///< "eth0"; unique within the process and transport
  std::string device;     ///< the NIC, by its network interface ("eth0"), which rails of other transports may use too; empty:
                          ///< it is not known, or the user named the rail by its kind ("tcp/eth0") and is to have it in any case
  std::uint8_t family = 0;      ///< rails of one transport that have different ones cannot reach each other: 4 and 6 for IP
  std::uint8_t precedence = 0;  ///< of rails of one device the one with the highest is used
  std::uint32_t speed_mbps = 0;  ///< what the link says of itself; 0 = unknown
  std::vector<std::byte> network;  ///< rails of one transport and family that have the same one reach each other directly
  std::vector<std::byte> place;    ///< how it is reached, in words of its transport

  /// "tcp/eth0"
  std::string label() const { return transport + "/" + name; }
  bool operator==(const RailAddress&) const = default;
};

void write_rail(ByteWriter& out, const RailAddress& rail);
/// What is too long counts as an end of the bytes: `in` is not good() any more.
RailAddress read_rail(ByteReader& in);

}  // namespace nezha
