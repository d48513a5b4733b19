// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/system_interfaces.h"

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>

#include "util/fd.h"

namespace nezha {
namespace {

constexpr std::size_t kAnswer = 64 * 1024;

/// One attribute list of a message; absent attributes are nullptr.
class Attributes {
 public:
  Attributes(const rtattr* first, std::size_t size) {
    auto left = static_cast<int>(size);
    for (const rtattr* at = first; RTA_OK(at, left); at = RTA_NEXT(at, left)) found_[at->rta_type & ~NLA_F_NESTED] = at;
  }

  const rtattr* find(unsigned short type) const {
    const auto at = found_.find(type);
    return at == found_.end() ? nullptr : at->second;
  }
  std::string text(unsigned short type) const {
    const rtattr* at = find(type);
    if (at == nullptr) return {};
    const auto* data = static_cast<const char*>(RTA_DATA(at));
    return {data, strnlen(data, RTA_PAYLOAD(at))};
  }
  std::uint32_t number(unsigned short type, std::uint32_t absent) const {
    const rtattr* at = find(type);
    if (at == nullptr || RTA_PAYLOAD(at) < sizeof(absent)) return absent;
    std::memcpy(&absent, RTA_DATA(at), sizeof(absent));
    return absent;
  }

 private:
  std::map<unsigned short, const rtattr*> found_;
};

Status failed(const char* what) {
  return {Code::io, std::string("the kernel's list of network interfaces: ") + what + ": " + std::strerror(errno)};
}

/// Asks for a whole table and hands over each message of it.
Status dump(const Fd& netlink, std::uint16_t type, const std::function<void(const nlmsghdr&)>& each) {
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
      if (at->nlmsg_type == NLMSG_DONE) return {};
      if (at->nlmsg_type == NLMSG_ERROR) {
        errno = -static_cast<const nlmsgerr*>(NLMSG_DATA(at))->error;
        return failed("answer");
      }
      each(*at);
    }
  }
}

SystemInterface interface_of(const nlmsghdr& message) {
  const auto* info = static_cast<const ifinfomsg*>(NLMSG_DATA(&message));
  const Attributes all(IFLA_RTA(info), IFLA_PAYLOAD(&message));
  SystemInterface interface;
  interface.index = static_cast<std::uint32_t>(info->ifi_index);
  interface.name = all.text(IFLA_IFNAME);
  interface.up = (info->ifi_flags & IFF_UP) != 0;
  interface.carrier = (info->ifi_flags & IFF_RUNNING) != 0;
  interface.loopback = (info->ifi_flags & IFF_LOOPBACK) != 0;
  if (const rtattr* nested = all.find(IFLA_LINKINFO)) {
    const Attributes link(static_cast<const rtattr*>(RTA_DATA(nested)), RTA_PAYLOAD(nested));
    interface.kind = link.text(IFLA_INFO_KIND);
    interface.master_kind = link.text(IFLA_INFO_SLAVE_KIND);
  }
  if (interface.master_kind.empty() && all.number(IFLA_MASTER, 0) != 0) interface.master_kind = "another interface";
  return interface;
}

SystemAddress address_of(const nlmsghdr& message) {
  const auto* info = static_cast<const ifaddrmsg*>(NLMSG_DATA(&message));
  const Attributes all(IFA_RTA(info), IFA_PAYLOAD(&message));
  SystemAddress address;
  const rtattr* bytes = all.find(IFA_LOCAL) != nullptr ? all.find(IFA_LOCAL) : all.find(IFA_ADDRESS);
  const std::size_t size = info->ifa_family == AF_INET ? 4 : info->ifa_family == AF_INET6 ? 16 : 0;
  if (bytes == nullptr || size == 0 || RTA_PAYLOAD(bytes) < size) return address;
  std::memcpy(address.address.data(), RTA_DATA(bytes), size);
  address.family = size == 4 ? 4 : 6;
  address.prefix = info->ifa_prefixlen;
  constexpr std::uint32_t kUnfit = IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED;
  address.usable = info->ifa_scope != RT_SCOPE_LINK && (all.number(IFA_FLAGS, info->ifa_flags) & kUnfit) == 0;
  return address;
}

/// What the link says of its speed; many software links say nothing, or nothing true.
std::uint32_t speed_of(const Fd& any_socket, const SystemInterface& interface) {
  if (interface.loopback || interface.kind == "veth") return 0;
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  ifreq request{};
  interface.name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  if (ioctl(any_socket.get(), SIOCETHTOOL, &request) != 0) return 0;
  const std::uint32_t speed = ethtool_cmd_speed(&command);
  return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
}

}  // namespace

Status read_system_interfaces(std::vector<SystemInterface>& interfaces) {
  const Fd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const Fd any_socket(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!netlink || !any_socket) return failed("socket");
  std::map<std::uint32_t, SystemInterface> found;
  Status status = dump(netlink, RTM_GETLINK, [&](const nlmsghdr& message) {
    if (message.nlmsg_type != RTM_NEWLINK) return;
    SystemInterface interface = interface_of(message);
    interface.speed_mbps = speed_of(any_socket, interface);
    found[interface.index] = std::move(interface);
  });
  if (!status.ok()) return status;
  status = dump(netlink, RTM_GETADDR, [&](const nlmsghdr& message) {
    if (message.nlmsg_type != RTM_NEWADDR) return;
    const auto at = found.find(static_cast<const ifaddrmsg*>(NLMSG_DATA(&message))->ifa_index);
    const SystemAddress address = address_of(message);
    if (at != found.end() && address.family != 0) at->second.addresses.push_back(address);
  });
  if (!status.ok()) return status;
  interfaces.clear();
  for (auto& [index, interface] : found) interfaces.push_back(std::move(interface));
  return {};
}

}  // namespace nezha
