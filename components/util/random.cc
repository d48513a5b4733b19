// SPDX-License-Identifier: BSD-3-Clause
#include "util/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace nezha {

Status random_bytes(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = getrandom(into.data(), into.size(), 0);
    if (got > 0) {
      into = into.subspan(static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return {Code::io, std::string("the kernel gave no random bytes: ") + std::strerror(errno)};
    }
  }
  return {};
}

Status random_id(std::uint64_t& id) {
  std::uint64_t drawn = 0;
  while (drawn == 0) {
    Status status = random_bytes(std::as_writable_bytes(std::span(&drawn, 1)));
    if (!status.ok()) return status;
  }
  id = drawn;
  return {};
}

}  // namespace nezha
