// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/link_watch.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace nezha {
namespace {

constexpr std::size_t kMessage = 32 * 1024;

bool of_interest(const nlmsghdr& message) {
  return message.nlmsg_type == RTM_NEWLINK || message.nlmsg_type == RTM_DELLINK || message.nlmsg_type == RTM_NEWADDR ||
         message.nlmsg_type == RTM_DELADDR;
}

}  // namespace

void LinkWatch::Close::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

Status LinkWatch::open() {
  socket_.reset(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket_ &&
      mnl_socket_bind(socket_.get(), RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, MNL_SOCKET_AUTOPID) == 0)
    return {};
  const int error = errno;
  socket_.reset();
  return {Code::io, std::string("the kernel does not tell of changes to links: ") + std::strerror(error)};
}

int LinkWatch::fd() const { return socket_ ? mnl_socket_get_fd(socket_.get()) : -1; }

bool LinkWatch::changed() {
  alignas(nlmsghdr) std::array<std::byte, kMessage> buffer;
  bool any = false;
  while (socket_) {
    const ssize_t got = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (got < 0) return any || errno == ENOBUFS;
    auto left = static_cast<int>(got);
    for (auto* at = reinterpret_cast<const nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(at, left);
         at = mnl_nlmsg_next(at, &left))
      any = any || of_interest(*at);
  }
  return any;
}

}  // namespace nezha
