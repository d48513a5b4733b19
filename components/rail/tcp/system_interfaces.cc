// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/system_interfaces.h"

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "rail/tcp/link_table.h"
#include "util/fd.h"

namespace nezha {
namespace {

constexpr std::size_t kAnswer = 64 * 1024;
constexpr int kMostTries = 4;  ///< to get a list that is not torn

Status failed(const char* what) {
  return {Code::io, std::string("the kernel's list of network interfaces: ") + what + ": " + std::strerror(errno)};
}

/// Asks for a whole table and hands over each message of it. `torn`: it has changed meanwhile, and the kernel may have left out
/// entries that have not.
Status dump(const Fd& netlink, std::uint16_t type, const std::function<void(const nlmsghdr&)>& each, bool& torn) {
  struct {
    nlmsghdr head;
    rtgenmsg body;
  } request{};
  request.head.nlmsg_len = NLMSG_LENGTH(sizeof(request.body));
  request.head.nlmsg_type = type;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.rtgen_family = AF_UNSPEC;
  while (send(netlink.get(), &request, request.head.nlmsg_len, 0) < 0)
    if (errno != EINTR) return failed("send");
  std::vector<std::max_align_t> buffer(kAnswer / sizeof(std::max_align_t));
  for (;;) {
    const ssize_t got = recv(netlink.get(), buffer.data(), kAnswer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("receive");
    auto left = static_cast<unsigned>(got);
    for (const auto* at = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(at, left);
         at = NLMSG_NEXT(at, left)) {
      torn = torn || (at->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
      if (at->nlmsg_type == NLMSG_DONE) return {};
      if (at->nlmsg_type == NLMSG_ERROR) {
        errno = -static_cast<const nlmsgerr*>(NLMSG_DATA(at))->error;
        return failed("answer");
      }
      each(*at);
    }
  }
}

}  // namespace

Status read_link_table(LinkTable& table) {
  const Fd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!netlink) return failed("socket");
  const auto take = [&, change = LinkChange()](const nlmsghdr& message) mutable {
    if (read_change(message, change)) table.apply(change);
  };
  Status status;
  bool torn = true;
  for (int tries = 0; torn && status.ok() && tries < kMostTries; ++tries) {
    torn = false;
    table = {};
    status = dump(netlink, RTM_GETLINK, take, torn);
    if (status.ok()) status = dump(netlink, RTM_GETADDR, take, torn);
  }
  if (torn && status.ok()) return {Code::busy, "the kernel's list of network interfaces: it changes all the time"};
  return status;
}

/// Many software links say nothing, or nothing true: a veth says 10000 whatever it does.
void ask_speed(SystemInterface& interface) {
  interface.speed_mbps = 0;
  if (interface.loopback || interface.kind == "veth") return;
  const Fd any_socket(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  ifreq request{};
  interface.name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  if (!any_socket || ioctl(any_socket.get(), SIOCETHTOOL, &request) != 0) return;
  const std::uint32_t speed = ethtool_cmd_speed(&command);
  if (speed != static_cast<std::uint32_t>(SPEED_UNKNOWN)) interface.speed_mbps = speed;
}

}  // namespace nezha
