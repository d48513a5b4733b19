/* SPDX-License-Identifier: BSD-3-Clause */
/// What a simulation finds out in the time after its warm-up.
#pragma once

#include <array>
#include <cstdint>

#include "events.h"

namespace nezha_simulate {

/// The parts of a message's latency, in the order in which it passes them (the paper's Fig. 8).
enum Part : std::uint8_t {
  source_accelerator,
  source_network,
  source_nic,
  between_nodes,
  far_nic,
  far_network,
  far_accelerator
};
inline constexpr int kParts = 7;
inline constexpr const char* kPartNames[kParts] = {
    "source accelerator", "source network", "source NIC", "between nodes", "far NIC", "far network", "far accelerator"};

struct Measured {
  double seconds = 0;
  std::int64_t intra_bytes = 0, inter_bytes = 0;  ///< that came to accelerators, with the headers used inside nodes
  std::int64_t intra_messages = 0, inter_messages = 0;
  double intra_latency_us = 0;                  ///< mean
  std::array<double, kParts> inter_parts_us{};  ///< means
  double longest_us = 0;
  std::uint64_t events = 0;

  double intra_gbps() const { return static_cast<double>(intra_bytes) * 8e-9 / seconds; }
  double inter_gbps() const { return static_cast<double>(inter_bytes) * 8e-9 / seconds; }
  double gbps() const { return intra_gbps() + inter_gbps(); }
  double inter_latency_us() const {
    double sum = 0;
    for (const double part : inter_parts_us) sum += part;
    return sum;
  }
};

}  // namespace nezha_simulate
