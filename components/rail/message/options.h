// SPDX-License-Identifier: BSD-3-Clause
/// Every number of the rails over whole messages in one place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/clock.h"

namespace nezha {

struct MessageOptions {
  std::size_t first_rail = 0;  ///< index of the kind's first rail in the process's list of rails

  std::size_t slot = 32 * 1024;  ///< bytes of a message
  std::size_t lane_memory = 1024 * 1024;  ///< of the receiving slots of a lane, and of the sending ones
  std::size_t bound_times = 1;            ///< what Transport::bound_lanes() says counts so many times for these
  std::uint32_t least_slots = 8;          ///< each, whatever the memory
  /// So many bytes of a payload in a row are sent from where they lie, where the kind can (QueuePair::lend); 0: all is copied.
  std::size_t lend_from = 0;
  std::size_t least_lent = 4 * 1024;  ///< what ends a row, and is less, is copied
  /// An ack of its own goes out once so much has come since the last one and nothing was sent that took it along.
  std::size_t ack_bytes = 16 * 1024;

  Nanoseconds handshake_timeout = 5 * kSecond;      ///< for a connection that came in; connect() brings its own deadline
  Nanoseconds admission_time = 750 * kMillisecond;  ///< for the other process, once the connection is up
  std::size_t pending_per_rail = 32;                ///< connections not yet admitted, with the memory of lanes; beyond, one is dropped
  Nanoseconds ask_after = 10 * kMillisecond;        ///< the last question, for the round trip alone
  /// What the silence of the other process has to exceed before it has answered for the first time. 0: it answers only in calls,
  /// so that silence means nothing.
  Nanoseconds answer_time = 60 * kMillisecond;
  /// Where it is 0: what was sent so long ago counts as received, until something is sent again.
  Nanoseconds call_time = 100 * kMillisecond;
};

}  // namespace nezha
