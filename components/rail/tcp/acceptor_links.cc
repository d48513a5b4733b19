// SPDX-License-Identifier: BSD-3-Clause
/// The part of the acceptor that follows what becomes of links and addresses.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "rail/tcp/acceptor.h"

namespace nezha {
namespace {

/// Null: it has not got that of the rail.
const SystemAddress* address_of(const SystemInterface& device, const Interface& rail) {
  const auto found = std::find_if(device.addresses.begin(), device.addresses.end(), [&](const SystemAddress& address) {
    return address.family == rail.family && address.address == rail.address;
  });
  return found == device.addresses.end() ? nullptr : &*found;
}

/// Why the rail cannot be used; empty when it can.
std::string trouble_of(const SystemInterface* device, const Interface& rail) {
  if (device == nullptr) return rail.device + " is gone";
  if (!device->up) return rail.device + " is down";
  if (!device->carrier) return rail.device + " has no carrier";
  if (address_of(*device, rail) == nullptr) return rail.device + " has lost its address";
  return {};
}

/// What the rail is to be now: at `first`, the address that all peers were told at the start, if its device has that; else as it
/// was; and at one that `fit` knows only where its device has neither. The family stays, because the peers' rails have it.
Interface now_of(const SystemInterface* device, const Interface& rail, const Interface& first, std::span<const Interface> fit) {
  if (device == nullptr) return rail;
  const auto take = [&](Interface now) {
    now.name = rail.name;
    now.device = rail.device;
    now.speed_mbps = rail.speed_mbps;
    return now;
  };
  if (const SystemAddress* back = address_of(*device, first); back != nullptr && back->usable) return take(first);
  if (address_of(*device, rail) != nullptr) return rail;
  const auto found = std::find_if(fit.begin(), fit.end(), [&](const Interface& each) {
    return each.device == rail.device && each.family == rail.family;
  });
  return found == fit.end() ? rail : take(*found);
}

}  // namespace

/// A rail whose index is not known may be on any.
bool Acceptor::concerns(std::uint32_t index, const std::string& name) const {
  return std::any_of(rails_.begin(), rails_.end(), [&](const Rail& rail) {
    return rail.index == index || rail.index == 0 || rail.interface.device == name;
  });
}

/// A device that was renamed is the same; one that was made anew has only its name.
const SystemInterface* Acceptor::device_of(const Rail& rail, std::span<const SystemInterface> present) {
  const SystemInterface* by_name = nullptr;
  for (const SystemInterface& each : present) {
    if (rail.index != 0 && each.index == rail.index) return &each;
    if (each.name == rail.interface.device) by_name = &each;
  }
  return by_name;
}

void Acceptor::follow_name(std::size_t rail, const SystemInterface& device) {
  std::string& name = rails_[rail].interface.device;
  if (name == device.name) return;
  log_.line(1, "rail %s: its interface is called %s now", addresses_[rail].label().c_str(), device.name.c_str());
  name = device.name;
}

Acceptor::Link Acceptor::look_at(std::size_t rail, std::span<const SystemInterface> present, std::span<const Interface> fit) {
  Rail& mine = rails_[rail];
  if (mine.interface.device == "lo") return {};
  const bool was_up = mine.trouble.empty();
  const SystemInterface* device = device_of(mine, present);
  if (device != nullptr) follow_name(rail, *device);
  const Interface now = now_of(device, mine.interface, mine.first, fit);
  const bool moved = now.family != mine.interface.family || now.address != mine.interface.address;
  const bool another = device != nullptr && (device->index != mine.index || moved || !mine.listeners.network);
  Link link;
  link.why = trouble_of(device, now);
  bool up = link.why.empty();
  link.lost = was_up && (another || !up);
  if (up && another) {
    link.why = now.device + (moved ? " has another address now" : " is another one now");
    const Status status = reopen(rail, now);
    up = status.ok();
    link.again = !up;
    if (up)
      mine.index = device->index;
    else
      link.why = status.text();
  }
  link.back = up && (another || !was_up);
  const std::string trouble = up ? std::string() : link.why;
  if (link.back || (trouble != mine.trouble && (was_up || another))) note_link(rail, trouble);
  mine.trouble = trouble;
  return link;
}

void Acceptor::note_link(std::size_t rail, const std::string& trouble) const {
  const Interface& interface = rails_[rail].interface;
  const std::string what =
      trouble.empty() ? "is back at " + address_text(interface.family, interface.address) : "is lost: " + trouble;
  log_.line(1, "rail %s %s", addresses_[rail].label().c_str(), what.c_str());
}

/// A child of fork() may hold them too: without the explicit steps it would keep their port, and epoll would report them here
/// for as long as a connection waits in their queue.
void Acceptor::close_listeners(Listeners& listeners) {
  for (Fd* listener : {&listeners.network, &listeners.local}) {
    if (!*listener) continue;
    watch(listener->get(), 0, 0, EPOLL_CTL_DEL);
    shutdown(listener->get(), SHUT_RDWR);
    listener->reset();
  }
}

/// Only with listeners that are watched it is what it is to be now. When it has none, the next look tries again.
Status Acceptor::reopen(std::size_t rail, const Interface& now) {
  Rail& mine = rails_[rail];
  const std::uint16_t port = mine.listeners.port;
  close_listeners(mine.listeners);
  mine.paused_until = 0;
  if (Status status = listen_again(rail, now); !status.ok()) {
    close_listeners(mine.listeners);
    mine.listeners.port = port;
    return status;
  }
  mine.interface = now;
  addresses_[rail] = published(now, mine.listeners.port);
  note_subnets();
  return {};
}

/// Listeners that are bound to a device are so to that one, not to another of its name. With the old port the peers
/// need not be told when the address is the old one too.
Status Acceptor::listen_again(std::size_t rail, const Interface& now) {
  Listeners& listeners = rails_[rail].listeners;
  TcpOptions options = options_;
  options.ports = {listeners.port, listeners.port};
  Status status = open_listeners(now, options, 0, listeners);
  if (!status.ok()) status = open_listeners(now, options_, self_, listeners);
  if (!status.ok()) return status;
  fix_buffers(listeners);
  return watch_listeners(rail, EPOLLIN, EPOLL_CTL_ADD) ? Status{} : io_error("epoll", errno);
}

bool Acceptor::may_announce(std::size_t rail) const {
  const Nanoseconds last = rails_[rail].announced_at;
  return last == 0 || clock_.now() - last >= options_.announcement_pause;
}

void Acceptor::announce(std::size_t rail, std::span<const RailAddress* const> taken) {
  Rail& mine = rails_[rail];
  const Nanoseconds now = clock_.now();
  mine.announced_at = now;
  announcements_.emplace_back(mine.interface, taken, mine.announced++, now);
  go_on_announcing(now);
}

void Acceptor::go_on_announcing(Nanoseconds now) {
  for (Announcement& each : announcements_) {
    each.step(now);
    due_by(each.due());
  }
  std::erase_if(announcements_, [](const Announcement& each) { return each.due() == 0; });
}

}  // namespace nezha
