// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/epoll.h>

#include <cstdint>

#include "util/fd.h"

namespace nezha {

/// Has the set of descriptors watch `fd`, which is what its events tell. False: see errno.
inline bool add_to(const Fd& set, int fd, std::uint32_t events = EPOLLIN) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return epoll_ctl(set.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace nezha
