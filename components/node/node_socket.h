// SPDX-License-Identifier: BSD-3-Clause
/// The address of a Unix socket in the abstract namespace: a zero, "nezha-" and the name in hexadecimal digits.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "node/node_greeting.h"

namespace nezha {

class NodeSocketAddress {
 public:
  explicit NodeSocketAddress(const NodeName& name) {
    constexpr std::string_view kPrefix = "nezha-", kDigits = "0123456789abcdef";
    address_.sun_family = AF_UNIX;
    char* to = std::copy(kPrefix.begin(), kPrefix.end(), address_.sun_path + 1);
    for (const std::byte byte : name) {
      *to++ = kDigits[std::to_integer<std::size_t>(byte >> 4)];
      *to++ = kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    size_ = static_cast<socklen_t>(to - reinterpret_cast<char*>(&address_));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

}  // namespace nezha
