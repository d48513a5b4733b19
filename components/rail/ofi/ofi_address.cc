// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/ofi_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace nezha {
namespace {

/// Up to its end.
std::string printable(std::span<const std::byte> text) {
  std::string shown;
  for (const std::byte byte : text) {
    const char letter = static_cast<char>(byte);
    if (letter == 0) break;
    shown += letter > ' ' && letter <= '~' ? letter : '?';
  }
  return shown.empty() ? "an unknown address" : shown;
}

}  // namespace

OfiIp ip_of(std::uint32_t format, std::span<const std::byte> address) {
  OfiIp ip;
  if (format == FI_SOCKADDR_IN && address.size() == sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, address.data(), sizeof in);
    if (in.sin_family != AF_INET) return ip;
    ip.family = 4;
    ip.port = ntohs(in.sin_port);
    std::memcpy(ip.bytes.data(), &in.sin_addr, 4);
  } else if (format == FI_SOCKADDR_IN6 && address.size() == sizeof(sockaddr_in6)) {
    sockaddr_in6 in;
    std::memcpy(&in, address.data(), sizeof in);
    if (in.sin6_family != AF_INET6) return ip;
    ip.family = 6;
    ip.port = ntohs(in.sin6_port);
    std::memcpy(ip.bytes.data(), &in.sin6_addr, 16);
  }
  return ip;
}

bool fits(std::uint32_t format, std::span<const std::byte> address, std::span<const std::byte> own) {
  if (address.empty()) return false;
  if (format == FI_ADDR_STR) {  // as long as it is, with its end
    const auto end = std::find(address.begin(), address.end(), std::byte{0});
    return end == address.end() - 1 && address.size() > 1;
  }
  if (address.size() != own.size()) return false;
  const bool ip = format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
  return !ip || ip_of(format, address).family == ip_of(format, own).family;
}

std::string ofi_address_text(std::uint32_t format, std::span<const std::byte> address) {
  const OfiIp ip = ip_of(format, address);
  char text[INET6_ADDRSTRLEN] = "";
  if (ip.family == 4 && inet_ntop(AF_INET, ip.bytes.data(), text, sizeof text) != nullptr)
    return std::string(text) + ":" + std::to_string(ip.port);
  if (ip.family == 6 && inet_ntop(AF_INET6, ip.bytes.data(), text, sizeof text) != nullptr)
    return "[" + std::string(text) + "]:" + std::to_string(ip.port);
  if (format == FI_ADDR_STR) return printable(address);
  std::string hex;
  for (const std::byte byte : address) {
    hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return hex.empty() ? "an unknown address" : hex;
}

}  // namespace nezha
