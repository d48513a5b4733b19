// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/socket.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace nezha {
namespace {

constexpr int kAnyPortAttempts = 16;  ///< when the kernel's choice is taken on the other listener

int family_of(std::uint8_t family) { return family == 4 ? AF_INET : AF_INET6; }

void set_option(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof(value)); }

Status open_socket(std::uint8_t family, Fd& result) {
  Fd fd(socket(family_of(family), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return io_error("socket", errno);
  if (family == 6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  result = std::move(fd);
  return {};
}

/// One listener on one port. An empty `device`: not bound to any.
Status listen_on(const Interface& interface, const TcpOptions& options, const std::string& device, std::uint16_t port,
                 Fd& result, DeviceBinding& binding, int& error) {
  Fd fd;
  Status status = open_socket(interface.family, fd);
  if (!status.ok()) return status;
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  binding = device.empty() ? DeviceBinding::not_permitted : bind_to_device(fd.get(), device);
  if (binding == DeviceBinding::failed) return io_error("binding to the device", errno);
  const SocketAddress address(interface.family, interface.address, port);
  if (bind(fd.get(), address.get(), address.size) != 0 || listen(fd.get(), options.backlog) != 0) {
    error = errno;
    return io_error("listening", error);
  }
  result = std::move(fd);
  return {};
}

std::uint16_t port_of(int fd) {
  SocketAddress address;
  return getsockname(fd, address.get(), &address.size) == 0 ? address.port() : std::uint16_t{0};
}

/// Both listeners on `port` (0: any). `error` is EADDRINUSE when another port may do.
Status open_pair(const Interface& interface, const TcpOptions& options, std::uint16_t port, Listeners& result,
                 int& error) {
  Listeners pair;
  DeviceBinding binding = DeviceBinding::failed;
  Status status = listen_on(interface, options, interface.device, port, pair.network, binding, error);
  if (!status.ok()) return status;
  pair.port = port_of(pair.network.get());
  pair.device_bound = binding == DeviceBinding::bound;
  if (pair.device_bound && interface.device != "lo") {
    status = listen_on(interface, options, "lo", pair.port, pair.local, binding, error);
    if (!status.ok()) return status;
  }
  result = std::move(pair);
  return {};
}

Status all_taken(const Interface& interface, const TcpOptions& options, unsigned ports) {
  std::string text = "all ports from " + std::to_string(options.ports.low) + " to " + std::to_string(options.ports.high) +
                     " are taken on " + interface.name + " (" + address_text(interface.family, interface.address) +
                     "); coll_nezha_port_range allows no others";
  if (options.local_ranks > ports)
    text += ": it has " + std::to_string(ports) + (ports == 1 ? " port" : " ports") + " for the " +
            std::to_string(options.local_ranks) + " ranks of this node, and each takes one";
  return {Code::no_rail, text};
}

}  // namespace

std::string address_text(std::uint8_t family, const std::array<std::uint8_t, 16>& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  inet_ntop(family_of(family), address.data(), text, sizeof(text));
  return text;
}

SocketAddress::SocketAddress(std::uint8_t family, const std::array<std::uint8_t, 16>& address, std::uint16_t port) {
  if (family == 4) {
    auto* to = reinterpret_cast<sockaddr_in*>(&storage);
    to->sin_family = AF_INET;
    to->sin_port = htons(port);
    std::memcpy(&to->sin_addr, address.data(), sizeof(to->sin_addr));
    size = sizeof(*to);
  } else {
    auto* to = reinterpret_cast<sockaddr_in6*>(&storage);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(port);
    std::memcpy(&to->sin6_addr, address.data(), sizeof(to->sin6_addr));
    size = sizeof(*to);
  }
}

std::uint16_t SocketAddress::port() const {
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(&storage)->sin_port
                                            : reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

std::string SocketAddress::text() const {
  char text[INET6_ADDRSTRLEN] = "?";
  const std::string number = ":" + std::to_string(port());
  if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text, sizeof(text));
    return text + number;
  }
  inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, text, sizeof(text));
  return "[" + std::string(text) + "]" + number;
}

Status io_error(const char* what, int error) {
  return {error == ETIMEDOUT ? Code::timed_out : Code::io,
          std::string(what) + ": " + std::strerror(error) + " (" + std::to_string(error) + ")"};
}

std::size_t descriptors_beyond(int newest) {
  rlimit limit{};
  const rlim_t taken = static_cast<rlim_t>(newest) + 1;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

DeviceBinding bind_to_device(int fd, const std::string& device) {
  if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device.c_str(), static_cast<socklen_t>(device.size())) == 0) {
    return DeviceBinding::bound;
  }
  return errno == EPERM ? DeviceBinding::not_permitted : DeviceBinding::failed;
}

Status open_listeners(const Interface& interface, const TcpOptions& options, std::uint64_t spread, Listeners& result) {
  const PortRange& ports = options.ports;
  const unsigned count = ports.any() ? kAnyPortAttempts : unsigned{ports.high} - ports.low + 1;
  for (unsigned i = 0; i < count; ++i) {
    const auto port = ports.any() ? 0 : ports.low + (spread + i) % count;
    int error = 0;
    const Status status = open_pair(interface, options, static_cast<std::uint16_t>(port), result, error);
    if (status.ok()) return status;
    if (error != EADDRINUSE) return {Code::no_rail, interface.name + ": " + status.text()};
  }
  return ports.any() ? Status{Code::no_rail, interface.name + ": no free port"} : all_taken(interface, options, count);
}

Status start_connect(const Interface& interface, const TcpPlace& remote, bool to_device, std::size_t memory, Fd& result,
                     bool& device_bound) {
  Fd fd;
  Status status = open_socket(interface.family, fd);
  if (!status.ok()) return status;
  fix_receive_buffer(fd.get(), memory);
  device_bound = false;
  if (to_device) {
    const DeviceBinding binding = bind_to_device(fd.get(), interface.device);
    if (binding == DeviceBinding::failed) return io_error("binding to the device", errno);
    device_bound = binding == DeviceBinding::bound;
  }
  set_option(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  const SocketAddress from(interface.family, interface.address, 0);
  if (bind(fd.get(), from.get(), from.size) != 0) return io_error("binding to the source address", errno);
  tune_lane_socket(fd.get());
  const SocketAddress to(remote);
  if (connect(fd.get(), to.get(), to.size) != 0 && errno != EINPROGRESS && errno != EINTR) {
    return io_error("connecting", errno);
  }
  result = std::move(fd);
  return {};
}

void tune_lane_socket(int fd) { set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

void fix_receive_buffer(int fd, std::size_t bytes) {
  set_option(fd, SOL_SOCKET, SO_RCVBUF, static_cast<int>(bytes / 2));  // the kernel doubles it
}

void narrow_receive_buffer(int fd, std::size_t bytes) {
  int now = 0;
  socklen_t size = sizeof(now);
  if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &now, &size) == 0 && static_cast<std::size_t>(now) > bytes) fix_receive_buffer(fd, bytes);
}

}  // namespace nezha
