// SPDX-License-Identifier: BSD-3-Clause
// Which addresses belong to a port, and where the address is in its table of GIDs.
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>

#include "rail/verbs/verbs_device.h"
#include "rail/verbs/verbs_interfaces.h"
#include "util/pci_device.h"

namespace nezha {
namespace {

struct FreeAddresses {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};
using Addresses = std::unique_ptr<ifaddrs, FreeAddresses>;

Addresses all_addresses() {
  ifaddrs* list = nullptr;
  return Addresses(getifaddrs(&list) == 0 ? list : nullptr);
}

/// The kernel takes at most 64 KiB for an answer.
constexpr std::size_t kMostGids = 65535 / sizeof(ibv_gid_entry);

VerbsPlace place_of(const sockaddr* address) {
  sockaddr_storage storage{};
  if (address == nullptr) return {};
  std::memcpy(&storage, address, address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  return nezha::place_of(storage);
}

std::uint8_t bits_of(const VerbsPlace& mask) {
  int bits = 0;
  for (std::size_t i = 0; i < mask.address_size(); ++i) bits += std::popcount(mask.address[i]);
  return static_cast<std::uint8_t>(bits);
}

bool same_address(const VerbsPlace& one, const VerbsPlace& other) {
  return one.family == other.family && one.address == other.address;
}

/// Those of the interface that are wanted.
template <typename Wanted>
void add_addresses(const ifaddrs* present, const char* interface, const Wanted& wanted, std::vector<VerbsAddress>& to) {
  for (const ifaddrs* each = present; each != nullptr; each = each->ifa_next) {
    VerbsPlace place = place_of(each->ifa_addr);
    place.port = 0;
    if (place.family != 0 && std::strcmp(each->ifa_name, interface) == 0 && wanted(place))
      to.push_back({place, bits_of(place_of(each->ifa_netmask)), interface});
  }
}

/// Mbit/s of a link, by the codes of InfiniBand; 0 for one that is not known.
std::uint32_t speed_of(const ibv_port_attr& port) {
  constexpr struct { std::uint8_t code; std::uint32_t mbps; } kLanes[] =
      {{1, 2500}, {2, 5000}, {4, 10000}, {8, 10000}, {16, 14000}, {32, 25000}, {64, 50000}, {128, 100000}};
  constexpr struct { std::uint8_t code; std::uint32_t lanes; } kWidths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
  for (const auto& lane : kLanes)
    for (const auto& width : kWidths)
      if (lane.code == port.active_speed && width.code == port.active_width) return lane.mbps * width.lanes;
  return 0;
}

}  // namespace

Status VerbsDevice::ask_port(ibv_port_attr& port) const {
  port = {};
  const verbs_context* extended = verbs_get_ctx_op(context_, query_port);
  if (extended == nullptr) return {Code::absent, "its driver is older than libibverbs"};
  if (const int error = extended->query_port(context_, port_, &port, sizeof port); error != 0)
    return verbs_error("its port", error);
  if (port.state != IBV_PORT_ACTIVE) return {Code::io, "its port has no link"};
  return {};
}

Status VerbsDevice::read_table(std::vector<ibv_gid_entry>& table) const {
  ibv_port_attr port;
  if (Status status = ask_port(port); !status.ok()) return status;
  // Of all ports; two are the most that devices have.
  table.resize(std::min(static_cast<std::size_t>(port.gid_tbl_len) * 2, kMostGids));
  const ssize_t count = verbs_.query_gid_table(context_, table.data(), table.size(), 0, sizeof table[0]);
  if (count < 0) return verbs_error("its table of GIDs", static_cast<int>(-count));
  table.resize(static_cast<std::size_t>(count));
  return {};
}

Status VerbsDevice::look() {
  ibv_port_attr port;
  if (Status status = ask_port(port); !status.ok()) return status;
  speed_mbps_ = speed_of(port);
  infiniband_ = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
  addresses_.clear();
  if (Status status = find_addresses(); !status.ok()) return status;
  if (addresses_.empty())
    return {Code::no_rail, infiniband_ ? "it has no interface with an IP address (IPoIB), which pairs are set up by"
                                       : "it has no RoCE v2 address of an interface that is up"};
  std::sort(addresses_.begin(), addresses_.end(), [](const VerbsAddress& one, const VerbsAddress& other) {
    return std::tie(one.place.family, one.place.address, one.interface) <
           std::tie(other.place.family, other.place.address, other.interface);
  });
  address_ = addresses_.front();
  return {};
}

/// Of InfiniBand the IPv4 addresses of its interfaces, which pairs are set up by; of Ethernet those that are in the
/// table of GIDs.
Status VerbsDevice::find_addresses() {
  const Addresses present = all_addresses();
  if (infiniband_) {
    for (const std::string& name : infiniband_interfaces(sysfs_, name_, port_))
      add_addresses(
          present.get(), name.c_str(), [](const VerbsPlace& place) { return place.family == 4; }, addresses_);
    return {};
  }
  std::vector<ibv_gid_entry> table;
  if (Status status = read_table(table); !status.ok()) return status;
  for (const ibv_gid_entry& entry : table) {
    char name[IF_NAMESIZE] = "";
    VerbsPlace own;
    if (is_address(entry, own) && if_indextoname(entry.ndev_ifindex, name) != nullptr)
      add_addresses(
          present.get(), name, [&](const VerbsPlace& place) { return same_address(place, own); }, addresses_);
  }
  return {};
}

/// An address of RoCE v2 that is no link-local one.
bool VerbsDevice::is_address(const ibv_gid_entry& entry, VerbsPlace& place) const {
  constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (entry.port_num != port_ || entry.gid_type != IBV_GID_TYPE_ROCE_V2) return false;
  const std::uint8_t* raw = entry.gid.raw;
  place = {};
  if (std::memcmp(raw, kMapped, sizeof kMapped) == 0) {
    place.family = 4;
    std::memcpy(place.address.data(), raw + sizeof kMapped, 4);
    return true;
  }
  place.family = 6;
  std::memcpy(place.address.data(), raw, 16);
  return raw[0] != 0xfe;
}

std::string VerbsDevice::pci_device() const {
  std::string own = pci_device_of(name_, sysfs_);
  return own.empty() ? pci_device_of(interface(), sysfs_) : own;
}

Status VerbsDevice::find_gid(std::uint8_t& index, ibv_gid& gid) const {
  std::vector<ibv_gid_entry> table;
  if (Status status = read_table(table); !status.ok()) return status;
  for (const ibv_gid_entry& entry : table) {
    VerbsPlace place;
    const bool right = infiniband_ ? entry.port_num == port_ && entry.gid_type == IBV_GID_TYPE_IB
                                   : is_address(entry, place) && same_address(place, address_.place);
    if (!right) continue;
    index = static_cast<std::uint8_t>(entry.gid_index);
    gid = entry.gid;
    return {};
  }
  return {Code::io, "its address " + text_of(address_.place) + " is not in the table of GIDs"};
}

}  // namespace nezha
