// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/tcp_place.h"

#include <algorithm>

#include "util/bytes.h"

namespace nezha {
namespace {

std::size_t bytes_of(std::uint8_t family) { return family == 4 ? 4 : 16; }

std::vector<std::byte> network_of(const Interface& interface) {
  const std::size_t bits = std::min(std::size_t{interface.prefix}, 8 * bytes_of(interface.family));
  std::vector<std::byte> network(1 + bytes_of(interface.family));
  network[0] = static_cast<std::byte>(bits);
  for (std::size_t bit = 0; bit < bits; ++bit)
    network[1 + bit / 8] |= static_cast<std::byte>(interface.address[bit / 8] & (0x80U >> (bit % 8)));
  return network;
}

}  // namespace

RailAddress tcp_address(const Interface& interface, std::uint16_t port) {
  RailAddress rail;
  rail.transport = kTcp;
  rail.name = interface.name;
  rail.family = interface.family;
  rail.speed_mbps = interface.speed_mbps;
  rail.network = network_of(interface);
  const std::size_t size = bytes_of(interface.family);
  rail.place.resize(size + sizeof port);
  std::transform(interface.address.begin(), interface.address.begin() + static_cast<std::ptrdiff_t>(size), rail.place.begin(),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  store_le(rail.place.data() + size, port);
  return rail;
}

bool read_place(const RailAddress& rail, TcpPlace& place) {
  place = {};
  place.family = rail.family;
  if (rail.transport != kTcp || (rail.family != 4 && rail.family != 6)) return false;
  const std::size_t size = bytes_of(rail.family);
  if (rail.place.size() != size + sizeof place.port) return false;
  std::transform(rail.place.begin(), rail.place.begin() + static_cast<std::ptrdiff_t>(size), place.address.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  place.port = load_le<std::uint16_t>(rail.place.data() + size);
  return place.port != 0;
}

}  // namespace nezha
