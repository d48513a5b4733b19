// SPDX-License-Identifier: BSD-3-Clause
/// Every number of the verbs rails in one place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/clock.h"
#include "util/port_range.h"

namespace nezha {

struct VerbsOptions {
  /// The NIC sends again after 4.096 us * 2^timeout without an answer, so often at most, and then gives the pair up: 270 ms.
  /// Usually the engine's own silence has been noticed before. 7 would mean without limit on some devices.
  std::uint8_t timeout = 14, retries = 3;
  std::size_t slot = 32 * 1024;         ///< bytes of a message, as MessageOptions has it
  std::uint32_t shared_receives = 128;  ///< messages that a rail has room for, whoever sends them
  std::uint32_t inline_bytes = 220;   ///< messages up to this are copied by the processor, where the device can
  std::uint32_t signal_every = 16;    ///< of messages sent inline, one in so many is completed
  int completions_per_poll = 64;      ///< of a rail
  int backlog = 64;                   ///< of a listener
  Nanoseconds accept_pause = 100 * kMillisecond;  ///< before accepting again when descriptors or memory ran out
  /// Before a pair that has sent is destroyed. The kernel waits for its packets there, and those in front of a neighbour that cannot
  /// be found any more go after three questions of a second each.
  Nanoseconds linger = 5 * kSecond;
  PortRange ports;                    ///< where listeners may sit
  bool share_devices = true;          ///< rails publish their NICs
};

}  // namespace nezha
