// SPDX-License-Identifier: BSD-3-Clause
/// The part of the door that follows what becomes of links and addresses.
#include <sys/epoll.h>

#include <algorithm>

#include "rail/tcp/door.h"

namespace nezha {
namespace {

bool has_address(const SystemInterface& device, const Interface& rail) {
  return std::any_of(device.addresses.begin(), device.addresses.end(), [&](const SystemAddress& address) {
    return address.family == rail.family && address.address == rail.address;
  });
}

/// Why the rail cannot be used; empty when it can.
std::string trouble_of(const SystemInterface* device, const Interface& rail) {
  if (device == nullptr) return rail.device + " is gone";
  if (!device->up) return rail.device + " is down";
  if (!device->carrier) return rail.device + " has no carrier";
  if (!has_address(*device, rail)) return rail.device + " has lost its address";
  return {};
}

}  // namespace

Door::Link Door::look_at(std::size_t rail, std::span<const SystemInterface> present) {
  Rail& mine = rails_[rail];
  if (mine.interface.device == "lo") return {};
  const auto found = std::find_if(present.begin(), present.end(),
                                  [&](const SystemInterface& each) { return each.name == mine.interface.device; });
  const SystemInterface* device = found == present.end() ? nullptr : &*found;
  Link link;
  link.why = trouble_of(device, mine.interface);
  const bool another = device != nullptr && device->index != mine.index;
  if (link.why.empty() && another) {
    if (mine.up) link.lost = true, link.why = mine.interface.device + " is another one now";
    if (const Status status = reopen(rail); status.ok())
      mine.index = device->index;
    else
      link.why = status.text();
  } else {
    link.lost = mine.up && !link.why.empty();
  }
  const bool up = device != nullptr && trouble_of(device, mine.interface).empty() && mine.index == device->index;
  link.back = up && (!mine.up || another);
  if (up != mine.up || another)
    log_.line(1, "rail %s %s%s", addresses_[rail].label().c_str(), up ? "is back" : "is lost: ", up ? "" : link.why.c_str());
  mine.up = up;
  return link;
}

/// Listeners that are bound to a device are so to that one, not to another of its name. Peers know the port.
Status Door::reopen(std::size_t rail) {
  Rail& mine = rails_[rail];
  mine.listeners = {};
  TcpOptions options = options_;
  options.ports = {addresses_[rail].port, addresses_[rail].port};
  Listeners fresh;
  if (Status status = open_listeners(mine.interface, options, 0, fresh); !status.ok()) return status;
  mine.listeners = std::move(fresh);
  mine.paused_until = 0;
  return watch_listeners(rail, EPOLLIN, EPOLL_CTL_ADD) ? Status{} : Status{Code::io, "epoll refuses a listener"};
}

}  // namespace nezha
