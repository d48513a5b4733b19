// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/acceptor.h"

#include <net/if.h>
#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace nezha {
namespace {

constexpr int kEvents = 32;

/// The tag of a listener in the epoll descriptor: odd, while those of handshakes are addresses.
std::uint64_t listener_tag(std::size_t rail, bool local) { return rail << 2 | (local ? 2U : 0U) | 1U; }

bool same_subnet4(const Interface& one, const Interface& other) {
  const auto network = [](const Interface& interface) {
    std::uint32_t address = 0;
    for (std::size_t i = 0; i < 4; ++i) address = address << 8 | interface.address[i];
    return interface.prefix == 0 ? 0 : address >> (32 - interface.prefix);
  };
  return one.family == 4 && other.family == 4 && one.device != other.device && one.prefix == other.prefix &&
         network(one) == network(other);
}

}  // namespace

Acceptor::Acceptor(const TcpOptions& options, const Clock& clock, Log log, Admission& admission, ProcessId self, Host& host)
    : options_(options), clock_(clock), log_(log), admission_(admission), self_(self),
      memory_(std::max(options.lane_memory, options.loopback_memory)), host_(host),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

Status Acceptor::open(std::vector<Interface> interfaces) {
  if (!epoll_) return io_error("epoll_create", errno);
  Status last{Code::no_rail, "no interface is left for TCP rails"};
  for (Interface& interface : interfaces) {
    if (rails_.size() + options_.first_rail >= kMaxRails) break;
    const Status status = open_rail(interface);
    if (status.ok()) continue;
    last = status;
    log_.line(0, "rail tcp/%s is left out: %s", interface.name.c_str(), status.text().c_str());
  }
  note_subnets();
  return rails_.empty() ? last : Status{};
}

Status Acceptor::open_loopback() {
  if (!epoll_) return io_error("epoll_create", errno);
  said_unbound_ = true;  // no other device has this address
  Interface loopback{"lo", "lo", 4, {127, 0, 0, 1}, 8, 0};
  const Status status = open_rail(loopback);
  if (status.ok()) rails_.back().number = kLoopbackRail;
  return status;
}

bool Acceptor::knows(const Interface& interface) const {
  return std::any_of(rails_.begin(), rails_.end(), [&](const Rail& rail) {
    return rail.interface.name == interface.name || rail.interface.device == interface.device;
  });
}

void Acceptor::add_rail(Interface interface, Transport& transport) {
  const std::string name = interface.name;
  Status status = open_rail(interface);
  if (status.ok()) {
    if (const auto number = admission_.rail_added(transport, addresses_.back())) {
      rails_.back().number = *number;
      note_subnets();
      return;
    }
    drop_last_rail();
    status = {Code::no_rail, "one rail too many, " + std::to_string(kMaxRails) + " are used"};
  }
  log_.line(2, "not a rail: %s: %s", name.c_str(), status.text().c_str());
}

void Acceptor::bound_lanes(std::size_t bytes) {
  memory_ = std::max(bytes, options_.loopback_memory);
  for (const Rail& rail : rails_) fix_buffers(rail.listeners);
}

void Acceptor::fix_buffers(const Listeners& listeners) const {
  fix_receive_buffer(listeners.network.get(), memory_);
  if (listeners.local) fix_receive_buffer(listeners.local.get(), memory_);
}

void Acceptor::note_subnets() {
  for (Rail& one : rails_) {
    for (Rail& other : rails_) one.shares_subnet |= &one != &other && same_subnet4(one.interface, other.interface);
  }
}

RailAddress Acceptor::published(const Interface& interface, std::uint16_t port) const {
  RailAddress address = tcp_address(interface, port);
  if (options_.share_devices && interface.device != "lo") address.device = interface.device;
  return address;
}

Status Acceptor::open_rail(Interface& interface) {
  Rail rail;
  Status status = open_listeners(interface, options_, self_, rail.listeners);
  if (!status.ok()) return status;
  fix_buffers(rail.listeners);
  if (!rail.listeners.device_bound) note_unbound(interface);
  addresses_.push_back(published(interface, rail.listeners.port));
  rail.number = static_cast<std::uint8_t>(options_.first_rail + rails_.size());
  rail.index = if_nametoindex(interface.device.c_str());
  rail.first = interface;
  rail.interface = std::move(interface);
  rails_.push_back(std::move(rail));
  if (!watch_listeners(rails_.size() - 1, EPOLLIN, EPOLL_CTL_ADD)) {
    status = io_error("epoll", errno);
    drop_last_rail();
  }
  return status;
}

void Acceptor::drop_last_rail() {
  close_listeners(rails_.back().listeners);
  rails_.pop_back();
  addresses_.pop_back();
}

void Acceptor::note_unbound(const Interface& interface) {
  if (std::exchange(said_unbound_, true)) return;
  log_.line(1, "sockets may not be bound to devices here (%s): source addresses alone decide which NIC is used",
            interface.device.c_str());
}

bool Acceptor::watch(int fd, std::uint32_t events, std::uint64_t tag, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

bool Acceptor::watch_listeners(std::size_t rail, std::uint32_t events, int operation) {
  const Listeners& listeners = rails_[rail].listeners;
  return watch(listeners.network.get(), events, listener_tag(rail, false), operation) &&
         (!listeners.local || watch(listeners.local.get(), events, listener_tag(rail, true), operation));
}

void Acceptor::connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) {
  TcpPlace to;
  const bool understood = read_place(remote, to);
  const std::string peer = (understood ? SocketAddress(to).text() : "?") + " (" + remote.label() + ")";
  const auto fail = [&](const Status& why) {
    failures_.push_back({spec, connect_error(local, peer, why)});
  };
  if (const std::string& trouble = rails_[local].trouble; !trouble.empty())
    return fail({Code::no_rail, "the rail is lost: " + trouble});
  const Interface& interface = rails_[local].interface;
  if (remote.family != interface.family) return fail({Code::bad_peer, "one side is IPv4 and the other IPv6"});
  if (!understood) return fail({Code::bad_peer, "its address is not understood"});
  Fd fd;
  bool device_bound = false;
  const Status status = start_connect(interface, to, !spec.same_node, memory_, fd, device_bound);
  if (!status.ok()) return fail(status);
  if (!spec.same_node && !device_bound) note_unbound(interface);
  auto handshake = std::make_unique<TcpHandshake>(std::move(fd), spec, local, peer, deadline, self_);
  if (!watch(handshake->fd(), EPOLLOUT, tag_of(*handshake), EPOLL_CTL_ADD)) return fail(io_error("epoll", errno));
  add(std::move(handshake));
}

bool Acceptor::go_on(bool ready) {
  bool any = !failures_.empty();
  report_failures();
  if (ready) {
    epoll_event events[kEvents];
    const int count = epoll_wait(epoll_.get(), events, kEvents, 0);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[i].data.u64;
      if ((tag & 1) != 0) {
        accept_from(tag);
      } else {
        proceed(*reinterpret_cast<TcpHandshake*>(static_cast<std::uintptr_t>(tag)));
      }
    }
    any |= count > 0;
  }
  if (next_deadline_ != 0) {
    const Nanoseconds now = clock_.now();
    if (now >= next_deadline_) {
      expire(now);
      resume(now);
      go_on_announcing(now);
      any = true;
    }
  }
  if (any) sweep();
  return any;
}

void Acceptor::accept_from(std::uint64_t tag) {
  const std::size_t rail = tag >> 2;
  const Listeners& listeners = rails_[rail].listeners;
  const int listener = (tag & 2) != 0 ? listeners.local.get() : listeners.network.get();
  for (std::size_t i = 0; i < options_.accepts_at_once; ++i) {
    if (!accept_one(rail, listener)) return;
  }
}

bool Acceptor::accept_one(std::size_t rail, int listener) {
  SocketAddress from;
  Fd fd(accept4(listener, from.get(), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    if (exhausted(errno)) pause(rail, errno);
    return errno == ECONNABORTED;
  }
  make_room(rails_[rail]);
  spare_descriptors(fd.get());
  tune_lane_socket(fd.get());
  auto handshake = std::make_unique<TcpHandshake>(std::move(fd), rail, rails_[rail].number, from.text(),
                                               clock_.now() + options_.handshake_timeout, self_);
  if (!watch(handshake->fd(), EPOLLIN, tag_of(*handshake), EPOLL_CTL_ADD)) return false;
  ++rails_[rail].pending;
  add(std::move(handshake));
  return true;
}

void Acceptor::pause(std::size_t rail, int error) {
  if (std::has_single_bit(++pauses_)) {
    log_.line(1, "rail %s accepts no connections for a while: %s (%llu times so far)",
              addresses_[rail].label().c_str(), std::strerror(error), static_cast<unsigned long long>(pauses_));
  }
  watch_listeners(rail, 0, EPOLL_CTL_MOD);
  rails_[rail].paused_until = clock_.now() + options_.accept_pause;
  due_by(rails_[rail].paused_until);
}

void Acceptor::resume(Nanoseconds now) {
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (rails_[rail].paused_until == 0 || rails_[rail].paused_until > now) continue;
    rails_[rail].paused_until = 0;
    watch_listeners(rail, EPOLLIN, EPOLL_CTL_MOD);
  }
}

}  // namespace nezha
