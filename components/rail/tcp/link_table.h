// SPDX-License-Identifier: BSD-3-Clause
/// The network interfaces of this network namespace as the kernel's messages tell of them, kept up to date message by message.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "rail/tcp/system_interfaces.h"

struct nlmsghdr;

namespace nezha {

/// What one message says: a change, or an entry of a list.
struct LinkChange {
  enum class What : std::uint8_t { link, link_gone, address, address_gone };
  What what = What::link;
  SystemInterface link;   ///< its index; for What::link all but its addresses and its speed
  SystemAddress address;  ///< for What::address and address_gone
};

/// False: the message is about something else, and `change` is undefined.
bool read_change(const nlmsghdr& message, LinkChange& change);

class LinkTable {
 public:
  void apply(const LinkChange& change);
  /// Null: there is none with this index.
  const SystemInterface* find(std::uint32_t index) const;
  /// By index.
  const std::map<std::uint32_t, SystemInterface>& all() const { return links_; }
  std::vector<SystemInterface> list() const;

 private:
  std::map<std::uint32_t, SystemInterface> links_;
};

}  // namespace nezha
