// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/lookup.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace nezha {

Status look_up(const AggregatorList::Entry& entry, SocketAddress& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(entry.host.c_str(), std::to_string(entry.port).c_str(), &hints, &found);
  if (error != 0) return {Code::io, gai_strerror(error)};
  place.size = std::min<socklen_t>(found->ai_addrlen, sizeof place.storage);
  std::memcpy(&place.storage, found->ai_addr, place.size);
  freeaddrinfo(found);
  return {};
}

Status begin_connection(const SocketAddress& place, Fd& fd) {
  fd = Fd(socket(place.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool begun = fd && (connect(fd.get(), place.get(), place.size) == 0 || errno == EINPROGRESS);
  return begun ? Status() : Status{Code::io, std::string("connect: ") + std::strerror(errno)};
}

}  // namespace nezha
