// SPDX-License-Identifier: BSD-3-Clause
/// Where a verbs rail listens: the address of its interface (4 or 16 bytes, network byte order) and a TCP port (u16, little
/// endian). Its network is the length of the prefix (u8) and the prefix, other bits 0.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nezha {

struct VerbsPlace {
  std::uint8_t family = 0;  ///< 4 or 6
  std::array<std::uint8_t, 16> address{};  ///< network byte order, IPv4 in the first four
  std::uint16_t port = 0;

  std::size_t address_size() const { return family == 6 ? 16 : 4; }
  bool operator==(const VerbsPlace&) const = default;
};

std::vector<std::byte> write_place(const VerbsPlace& place);
/// From untrusted bytes. False: no verbs rail has such a place.
bool read_place(const std::vector<std::byte>& bytes, VerbsPlace& place);
std::vector<std::byte> network_of(const VerbsPlace& place, std::uint8_t prefix);
/// For bind(2) and connect(2).
socklen_t socket_address(const VerbsPlace& place, sockaddr_storage& to);
/// The other way round; family 0: it is no IP address.
VerbsPlace place_of(const sockaddr_storage& address);
/// What RoCE v2 makes of the address.
std::array<std::byte, 16> gid_of(const VerbsPlace& place);
/// "10.1.0.7"
std::string text_of(const VerbsPlace& place);

}  // namespace nezha
