// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/link_watch.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace nezha {
namespace {

constexpr std::size_t kMessage = 32 * 1024;
/// Messages in one hear(). Each takes a microsecond or two; one interface that comes or goes causes about ten.
constexpr std::size_t kAtOnce = 16;
constexpr std::size_t kMostMeanwhile = 4096;

}  // namespace

void LinkWatch::Close::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

Status LinkWatch::open(std::size_t buffer) {
  socket_.reset(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket_ &&
      mnl_socket_bind(socket_.get(), RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, MNL_SOCKET_AUTOPID) == 0) {
    const int half = static_cast<int>(buffer / 2);  // the kernel doubles it
    if (setsockopt(fd(), SOL_SOCKET, SO_RCVBUFFORCE, &half, sizeof half) != 0)
      setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &half, sizeof half);
    return {};
  }
  const int error = errno;
  socket_.reset();
  return {Code::io, std::string("the kernel does not tell of changes to links: ") + std::strerror(error)};
}

int LinkWatch::fd() const { return socket_ ? mnl_socket_get_fd(socket_.get()) : -1; }

/// After an overrun the kernel leaves out everything, and says so no second time, until all of its buffer has been read. The
/// list has to be younger than that.
void LinkWatch::hear(std::vector<std::uint32_t>& touched) {
  alignas(nlmsghdr) std::array<std::byte, kMessage> buffer;
  LinkChange change;
  bool overrun = false;
  for (std::size_t count = 0; socket_ && (overrun || count < kAtOnce); ++count) {
    const ssize_t got = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == ENOBUFS || errno == ENOSPC)) {  // ENOSPC: longer than our buffer, and lost
      overrun = true;
      lose();
      continue;
    }
    if (got < 0 && errno == EINTR && overrun) continue;
    if (got < 0) return;
    auto left = static_cast<int>(got);
    for (auto* at = reinterpret_cast<const nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(at, left);
         at = mnl_nlmsg_next(at, &left)) {
      if (!read_change(*at, change)) continue;
      take(change);
      touched.push_back(change.link.index);
    }
  }
}

void LinkWatch::take(const LinkChange& change) {
  table_.apply(change);
  if (!listing_ || lost_meanwhile_) return;
  if (meanwhile_.size() == kMostMeanwhile) return lose();
  meanwhile_.push_back(change);
}

void LinkWatch::lose() {
  stale_ = true;
  lost_meanwhile_ = listing_;
  meanwhile_.clear();
}

void LinkWatch::list_begins() {
  listing_ = true;
  lost_meanwhile_ = false;
  meanwhile_.clear();
}

bool LinkWatch::list_ends(LinkTable& list, bool torn) {
  listing_ = false;
  const std::vector<LinkChange> meanwhile = std::exchange(meanwhile_, {});
  if (lost_meanwhile_) return false;
  for (const LinkChange& change : meanwhile) list.apply(change);
  std::swap(table_, list);
  stale_ = torn;
  return true;
}

}  // namespace nezha
