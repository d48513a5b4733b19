// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_place.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "util/bytes.h"

namespace nezha {

std::vector<std::byte> write_place(const VerbsPlace& place) {
  std::vector<std::byte> bytes(place.address_size() + sizeof place.port);
  std::memcpy(bytes.data(), place.address.data(), place.address_size());
  store_le(bytes.data() + place.address_size(), place.port);
  return bytes;
}

bool read_place(const std::vector<std::byte>& bytes, VerbsPlace& place) {
  place = {};
  place.family = bytes.size() == 6 ? 4 : 6;
  if (bytes.size() != place.address_size() + sizeof place.port) return false;
  std::memcpy(place.address.data(), bytes.data(), place.address_size());
  place.port = load_le<std::uint16_t>(bytes.data() + place.address_size());
  return place.port != 0;
}

std::vector<std::byte> network_of(const VerbsPlace& place, std::uint8_t prefix) {
  std::vector<std::byte> bytes(1 + place.address_size());
  bytes[0] = static_cast<std::byte>(prefix);
  for (std::size_t i = 0; i < place.address_size(); ++i) {
    const std::size_t bits = std::min<std::size_t>(8, prefix > 8 * i ? prefix - 8 * i : 0);
    bytes[1 + i] = static_cast<std::byte>(place.address[i] & (0xff00U >> bits));
  }
  return bytes;
}

socklen_t socket_address(const VerbsPlace& place, sockaddr_storage& to) {
  to = {};
  if (place.family == 4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(place.port);
    std::memcpy(&in.sin_addr, place.address.data(), sizeof in.sin_addr);
    std::memcpy(&to, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(place.port);
  std::memcpy(&in.sin6_addr, place.address.data(), sizeof in.sin6_addr);
  std::memcpy(&to, &in, sizeof in);
  return sizeof in;
}

VerbsPlace place_of(const sockaddr_storage& address) {
  VerbsPlace place;
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    place.family = 4;
    place.port = ntohs(in.sin_port);
    std::memcpy(place.address.data(), &in.sin_addr, sizeof in.sin_addr);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    place.family = 6;
    place.port = ntohs(in.sin6_port);
    std::memcpy(place.address.data(), &in.sin6_addr, sizeof in.sin6_addr);
  }
  return place;
}

std::array<std::byte, 16> gid_of(const VerbsPlace& place) {
  std::array<std::byte, 16> gid{};
  std::size_t at = 0;
  if (place.family == 4) {
    gid[10] = gid[11] = std::byte{0xff};
    at = 12;
  }
  std::memcpy(gid.data() + at, place.address.data(), place.address_size());
  return gid;
}

std::string text_of(const VerbsPlace& place) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(place.family == 6 ? AF_INET6 : AF_INET, place.address.data(), text, sizeof text);
  return text;
}

}  // namespace nezha
