// SPDX-License-Identifier: BSD-3-Clause
/// The network interfaces of this network namespace, as the kernel tells over netlink (/sys may show another
/// namespace's).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "util/status.h"

namespace nezha {

struct SystemAddress {
  std::uint8_t family = 0;  ///< 4 or 6
  std::array<std::uint8_t, 16> address{};  ///< network byte order, IPv4 in the first four
  std::uint8_t prefix = 0;
  bool usable = true;  ///< false: link-local, tentative, duplicate or deprecated
};

struct SystemInterface {
  std::uint32_t index = 0;
  std::string name;
  std::string kind;         ///< of a software device: "bridge", "veth", …; empty for hardware
  std::string master_kind;  ///< "bridge", "bond", … when it is a member of one
  bool up = false;          ///< administratively
  bool carrier = false;
  bool loopback = false;
  std::uint32_t speed_mbps = 0;  ///< 0 = not asked for (ask_speed()), unknown or meaningless
  std::vector<SystemAddress> addresses;
};

class LinkTable;

/// Replaces what the table holds by what there is now, without speeds. Waits for a lock of the kernel's, up to a second where
/// interfaces come and go: not while the engine's lock is held, except before the first team. Code::busy: they did so during each
/// try, and the table may lack some that are there.
Status read_link_table(LinkTable& table);

/// What the link says of its speed, into `speed_mbps`. Waits for the same lock.
void ask_speed(SystemInterface& interface);

}  // namespace nezha
