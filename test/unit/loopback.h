// SPDX-License-Identifier: BSD-3-Clause
/// Connections to ports of this process.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <utility>

#include "util/fd.h"

namespace nezha::test {

/// By IPv4. None, and a failure of the test, where nobody listens.
inline Fd connect_to(std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(port);
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int result = connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  EXPECT_EQ(result, 0);
  return result == 0 ? std::move(fd) : Fd();
}

}  // namespace nezha::test
