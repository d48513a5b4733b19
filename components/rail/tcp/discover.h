// SPDX-License-Identifier: BSD-3-Clause
/// Which interfaces of this node become TCP rails.
///
/// Without a list: all that are up, have a carrier and an address, and are hardware or a container's end of a veth.
/// Left out by kind: loopback, bridges, tunnels, tun/tap, dummy, ifb, members of a bridge or bond, and link-local
/// addresses; a name in the include list overrides the kind, an address block does not.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rail/tcp/interface.h"
#include "rail/tcp/link_table.h"
#include "rail/tcp/system_interfaces.h"
#include "util/interface_list.h"
#include "util/ip_version.h"
#include "util/status.h"

namespace nezha {

struct DiscoverOptions {
  InterfaceList include;  ///< empty: all; its order is the order of rails
  InterfaceList exclude;  ///< taken out afterwards
  IpVersion ip_version = IpVersion::automatic;
  std::size_t single_node = 0;  ///< n > 0: exactly the rails lo0 = 127.0.0.1, lo1 = 127.0.0.2 … and nothing else
};

struct Discovery {
  std::vector<Interface> chosen;       ///< in the order of rails, at most kMaxRails
  std::vector<std::string> unknown;    ///< words of the include list that nothing here answers to
  std::vector<std::string> available;  ///< what there is: "eth0 (10.1.0.7/24)"
  std::vector<std::string> left_out;   ///< and why: "docker0: a bridge"
};

/// The rules, on given interfaces.
Discovery choose_interfaces(std::span<const SystemInterface> present, const DiscoverOptions& options);

/// The rules, on one interface that is there or appears.
std::optional<Interface> choose_interface(const SystemInterface& interface, const DiscoverOptions& options);

/// The rules, on the interfaces in the table; those that are chosen are asked for their speeds, which may wait like
/// read_link_table().
Discovery discover_in(const LinkTable& table, const DiscoverOptions& options);

/// The rules, on the interfaces of this network namespace, as far as they are told of. A status that is not ok: the kernel would
/// not tell.
Status discover(const DiscoverOptions& options, Discovery& result);

}  // namespace nezha
