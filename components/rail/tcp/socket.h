// SPDX-License-Identifier: BSD-3-Clause
/// The socket calls of TCP rails: addresses, listeners, connections, with texts for what goes wrong.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "util/fd.h"
#include "rail/tcp/interface.h"
#include "rail/tcp/options.h"
#include "rail/tcp/tcp_place.h"
#include "util/status.h"

namespace nezha {

/// A socket address of either family with its length.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);

  SocketAddress() = default;
  SocketAddress(std::uint8_t family, const std::array<std::uint8_t, 16>& address, std::uint16_t port);
  explicit SocketAddress(const TcpPlace& place) : SocketAddress(place.family, place.address, place.port) {}

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  std::uint16_t port() const;
  /// "10.1.0.7:4711", "[fd00::7]:4711"
  std::string text() const;
};

/// "connect: Connection refused (111)"
Status io_error(const char* what, int error);

/// The socket has no room now, or the kernel no memory: worth another try, the connection stands.
inline bool temporary(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

/// No connection can be accepted for lack of descriptors or memory. It stays in the queue, and the listener readable.
inline bool exhausted(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

/// How many descriptors this process may have beyond `newest`, which it has just been given: the kernel gives the lowest that is free.
std::size_t descriptors_beyond(int newest);

/// What binding a socket to a device came to.
enum class DeviceBinding { bound, not_permitted, failed };
DeviceBinding bind_to_device(int fd, const std::string& device);

/// The listening sockets of one rail, non-blocking, on one port.
struct Listeners {
  Fd network;  ///< bound to the device: connections that came in through it; or to the address alone if not permitted
  Fd local;    ///< bound to lo, for peers on this node, whose packets never pass the device; may be absent
  std::uint16_t port = 0;
  bool device_bound = false;
};

/// Opens them on the first free port of the range, starting at a place that `spread` picks. An error leaves
/// `result` as it was.
Status open_listeners(const Interface& interface, const TcpOptions& options, std::uint64_t spread, Listeners& result);

/// Starts to connect from `interface` to `remote`, with a receive buffer of `memory` bytes. `to_device`: binds to the device
/// too; `device_bound` tells whether that was permitted.
Status start_connect(const Interface& interface, const TcpPlace& remote, bool to_device, std::size_t memory, Fd& result,
                     bool& device_bound);

/// The options of a lane, for sockets that were accepted or connected.
void tune_lane_socket(int fd);

/// Gives a socket that is to listen or to connect a receive buffer of so many bytes, or what net.core.rmem_max permits, if
/// that is less; connections that a listener accepts have it too. From the beginning: what autotuning has let the other side
/// send is dropped where it has no room any more, and goes again after 200 ms. (TCP_WINDOW_CLAMP does not bound the buffer:
/// autotuning moves the clamp, and unread bytes may exceed the window anyway.)
void fix_receive_buffer(int fd, std::size_t bytes);
/// Makes that of a connection smaller, if it has more.
void narrow_receive_buffer(int fd, std::size_t bytes);

}  // namespace nezha
