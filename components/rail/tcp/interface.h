// SPDX-License-Identifier: BSD-3-Clause
/// One network interface that is to become a TCP rail.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace nezha {

struct Interface {
  std::string name;    ///< of the rail: "eth0", "lo1"
  std::string device;  ///< the kernel's name, to bind sockets to: "eth0", "lo"
  std::uint8_t family = 0;  ///< 4 or 6
  std::array<std::uint8_t, 16> address{};  ///< network byte order, IPv4 in the first four
  std::uint8_t prefix = 0;        ///< length of the network part, bits
  std::uint32_t speed_mbps = 0;   ///< 0 = the link says nothing useful
};

/// "10.1.0.7" or "fd00::7".
std::string address_text(std::uint8_t family, const std::array<std::uint8_t, 16>& address);

}  // namespace nezha
