// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/link_table.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace nezha {
namespace {

/// One attribute list of a message; absent attributes, and those of a higher number than kMost, are nullptr.
class Attributes {
 public:
  Attributes(const rtattr* first, std::size_t size) {
    auto left = static_cast<int>(size);
    for (const rtattr* at = first; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
      const auto type = static_cast<std::size_t>(at->rta_type & ~NLA_F_NESTED);
      if (type < found_.size()) found_[type] = at;
    }
  }

  const rtattr* find(unsigned short type) const { return found_[type]; }
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
  static constexpr std::size_t kMost = 64;
  static_assert(IFLA_LINKINFO < kMost && IFLA_INFO_SLAVE_KIND < kMost && IFA_FLAGS < kMost);
  std::array<const rtattr*, kMost> found_{};
};

/// Bridges and wireless drivers send messages of this type too, which do not describe the link as a whole.
bool read_link(const nlmsghdr& message, SystemInterface& interface) {
  const auto* info = static_cast<const ifinfomsg*>(NLMSG_DATA(&message));
  if (message.nlmsg_len < NLMSG_LENGTH(sizeof(*info)) || info->ifi_family != AF_UNSPEC) return false;
  const Attributes all(IFLA_RTA(info), IFLA_PAYLOAD(&message));
  if (all.find(IFLA_WIRELESS) != nullptr) return false;
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
  return true;
}

bool read_address(const nlmsghdr& message, std::uint32_t& index, SystemAddress& address) {
  const auto* info = static_cast<const ifaddrmsg*>(NLMSG_DATA(&message));
  if (message.nlmsg_len < NLMSG_LENGTH(sizeof(*info))) return false;
  const Attributes all(IFA_RTA(info), IFA_PAYLOAD(&message));
  const rtattr* bytes = all.find(IFA_LOCAL) != nullptr ? all.find(IFA_LOCAL) : all.find(IFA_ADDRESS);
  const std::size_t size = info->ifa_family == AF_INET ? 4 : info->ifa_family == AF_INET6 ? 16 : 0;
  if (bytes == nullptr || size == 0 || RTA_PAYLOAD(bytes) < size) return false;
  index = info->ifa_index;
  std::memcpy(address.address.data(), RTA_DATA(bytes), size);
  address.family = size == 4 ? 4 : 6;
  address.prefix = info->ifa_prefixlen;
  constexpr std::uint32_t kUnfit = IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED;
  address.usable = info->ifa_scope != RT_SCOPE_LINK && (all.number(IFA_FLAGS, info->ifa_flags) & kUnfit) == 0;
  return true;
}

}  // namespace

bool read_change(const nlmsghdr& message, LinkChange& change) {
  change = {};
  switch (message.nlmsg_type) {
    case RTM_NEWLINK:
      change.what = LinkChange::What::link;
      return read_link(message, change.link);
    case RTM_DELLINK:
      change.what = LinkChange::What::link_gone;
      return read_link(message, change.link);
    case RTM_NEWADDR:
      change.what = LinkChange::What::address;
      return read_address(message, change.link.index, change.address);
    case RTM_DELADDR:
      change.what = LinkChange::What::address_gone;
      return read_address(message, change.link.index, change.address);
    default:
      return false;
  }
}

/// An address of a link that is not there is not kept: the kernel tells of links first.
void LinkTable::apply(const LinkChange& change) {
  const auto found = links_.find(change.link.index);
  if (change.what == LinkChange::What::link) {
    SystemInterface& link = found == links_.end() ? links_[change.link.index] : found->second;
    std::vector<SystemAddress> addresses = std::move(link.addresses);
    link = change.link;
    link.addresses = std::move(addresses);
    return;
  }
  if (found == links_.end()) return;
  if (change.what == LinkChange::What::link_gone) {
    links_.erase(found);
    return;
  }
  std::vector<SystemAddress>& addresses = found->second.addresses;
  const auto same = std::find_if(addresses.begin(), addresses.end(), [&](const SystemAddress& each) {
    return each.family == change.address.family && each.address == change.address.address &&
           each.prefix == change.address.prefix;
  });
  if (change.what == LinkChange::What::address_gone) {
    if (same != addresses.end()) addresses.erase(same);
  } else if (same != addresses.end()) {
    *same = change.address;
  } else {
    addresses.push_back(change.address);
  }
}

const SystemInterface* LinkTable::find(std::uint32_t index) const {
  const auto found = links_.find(index);
  return found == links_.end() ? nullptr : &found->second;
}

std::vector<SystemInterface> LinkTable::list() const {
  std::vector<SystemInterface> all;
  for (const auto& [index, link] : links_) all.push_back(link);
  return all;
}

}  // namespace nezha
