// SPDX-License-Identifier: BSD-3-Clause
/// Addresses in the formats of libfabric's providers, as they are published and come from peers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rail/ofi/library.h"

namespace nezha {

struct OfiIp {
  std::uint8_t family = 0;  ///< 4, 6 or 0: it is no address of IP
  std::array<std::uint8_t, 16> bytes{};  ///< network byte order, IPv4 in the first four
  std::uint16_t port = 0;
};

/// `format` is one of libfabric's FI_SOCKADDR_IN and so on.
OfiIp ip_of(std::uint32_t format, std::span<const std::byte> address);
/// An address that the provider may be given: from untrusted bytes, `own` being one of this process's.
bool fits(std::uint32_t format, std::span<const std::byte> address, std::span<const std::byte> own);
/// "10.1.0.7:4711"; of formats other than IP's the bytes.
std::string ofi_address_text(std::uint32_t format, std::span<const std::byte> address);

/// The source address of a fi_info.
inline std::span<const std::byte> source_of(const fi_info& info) {
  return {static_cast<const std::byte*>(info.src_addr), info.src_addr == nullptr ? 0 : info.src_addrlen};
}

}  // namespace nezha
