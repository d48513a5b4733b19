// SPDX-License-Identifier: BSD-3-Clause
/// Where a TCP rail listens, and the address that is published of it. Its place is the address (4 or 16 bytes, network byte
/// order) and the port (u16, little endian); its network the length of the prefix (u8) and the prefix, other bits 0.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "rail/rail_address.h"
#include "rail/tcp/interface.h"

namespace nezha {

inline constexpr char kTcp[] = "tcp";

struct TcpPlace {
  std::uint8_t family = 0;  ///< 4 or 6
  std::array<std::uint8_t, 16> address{};  ///< network byte order, IPv4 in the first four
  std::uint16_t port = 0;

  bool operator==(const TcpPlace&) const = default;
};

RailAddress tcp_address(const Interface& interface, std::uint16_t port);
/// From untrusted bytes. False: no TCP rail has such an address.
bool read_place(const RailAddress& rail, TcpPlace& place);

}  // namespace nezha
