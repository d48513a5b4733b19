// SPDX-License-Identifier: BSD-3-Clause
/// Every number of the TCP rails in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rail/tcp/discover.h"
#include "util/clock.h"
#include "util/port_range.h"

namespace nezha {

struct TcpOptions {
  PortRange ports;             ///< where listeners may sit
  std::uint32_t local_ranks = 0;  ///< how many processes of this node share them, 0: unknown; for texts
  std::size_t first_rail = 0;  ///< index of this transport's first rail in the process's list of rails
  bool share_devices = true;   ///< a rail of another kind on the same NIC may take this one's place (see RailAddress::device)
  bool loopback = false;       ///< processes of this node and network namespace may connect over its loopback
  std::optional<DiscoverOptions> rules;  ///< by which interfaces that appear later are taken up; none: they never are

  Nanoseconds handshake_timeout = 5 * kSecond;  ///< for a connection that came in; connect() brings its own deadline
  Nanoseconds admission_time = 750 * kMillisecond;  ///< for the other process, once its kernel has answered a connect()
  std::size_t pending_per_rail = 256;           ///< connections not yet admitted; beyond, the oldest is dropped
  std::size_t silent_part = 4;  ///< connections without a HELLO may have one of so many descriptors that are free
  std::size_t accepts_at_once = 16;             ///< per listener and progress(), so that a flood leaves time for lanes
  Nanoseconds accept_pause = 100 * kMillisecond;  ///< before accepting, or asking about links, again when descriptors or memory ran out
  Nanoseconds reopen_pause = kSecond;             ///< before listeners that could not be made anew are tried again
  Nanoseconds announcement_pause = 100 * kMillisecond;  ///< at least, between two of a rail: many peers may come back at once
  std::size_t link_buffer = 1024 * 1024;  ///< bytes of kernel memory for messages about links that have not been read yet
  int backlog = 1024;                             ///< of listen(2)

  /// Bytes of kernel memory for what a lane has received and nobody has read, until bound_lanes() says otherwise.
  std::size_t lane_memory = 512 * 1024;
  /// The least for a lane within a node: for a window that has no room for a packet of the loopback interface (64 KiB) a sender
  /// does not split it, but waits for its timer, 200 ms and more.
  std::size_t loopback_memory = 256 * 1024;
  std::size_t staging = 16 * 1024;        ///< receive buffer of a lane for headers and small payloads
  std::size_t large_frame = 16 * 1024;    ///< payloads from here on are read straight to their places
  std::size_t tail = 256;                 ///< staged behind a large payload: room for the next frame's header
  std::size_t receive_budget = 512 * 1024;  ///< bytes of one lane in one progress()
  std::size_t task = 32 * 1024;           ///< payloads from here on are left to the rail's worker, if there is one
  std::size_t spare_frames = 8;             ///< buffers for own_rest() kept for reuse, of all lanes together
  Nanoseconds info_refresh = 2 * kMillisecond;  ///< between two looks at TCP_INFO
};

}  // namespace nezha
