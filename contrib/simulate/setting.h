/* SPDX-License-Identifier: BSD-3-Clause */
/// What is simulated: a cluster, its traffic, how long.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric.h"
#include "pcie.h"

namespace nezha_simulate {

/// Defaults are those of SAURON's paper, and where it gives none a remark says what was chosen.
struct Setting {
  int nodes = 32;
  int accelerators = 8;           ///< of a node
  double accelerator_gbps = 512;  ///< of every link inside a node
  double node_gbps = 400;         ///< of every link between nodes
  int intra_payload = 128, intra_header = 20;
  int inter_payload = 4032, inter_header = 64;  ///< a message is as long as a packet between nodes
  std::int64_t buffer = 128 * 1024;             ///< of an input of a switch or NIC, bytes
  /// What a NIC takes to make one of the small packets out of a packet from another node. The paper says that this
  /// limits, and gives no time: this is the TLP time of its equation (1). Packets of both networks that are alike take
  /// none.
  double conversion_ns = PcieLink{}.tlp_time();
  double meters = 1;  ///< of a cable between nodes; the paper gives the time of a meter alone
  double ns_per_meter = 25;
  Arbiter arbiter = Arbiter::round_robin;
  /// An input of a switch feeds one output at a time, as iSlip matches them. The paper names iSlip, and has outputs
  /// choose independently.
  bool matched = false;

  double inter_percent = 20;  ///< of messages that go to other nodes: 20, 15, 10, 5, 0 are C1 to C5
  double load_percent = 100;  ///< what an accelerator generates, of its link's rate
  /// Messages that wait in an accelerator, bytes; it generates none beyond that. Not in the paper: as large as an
  /// input's buffer.
  std::int64_t source_queue = 128 * 1024;
  std::uint64_t seed = 1;

  Time warm_up = 60 * kMicrosecond;
  Time measured = 200 * kMicrosecond;
  /// Packets inside a node that move together: with 1 they mix as they would, with more it is faster.
  int train = 8;

  int packets_of_message() const { return (inter_payload + intra_payload - 1) / intra_payload; }
  /// Of a message inside a node.
  int wire_bytes() const { return inter_payload + packets_of_message() * intra_header; }
};

/// Sets a field by its name; times are microseconds and named warm_up_us and measured_us, an arbiter is round-robin or
/// age. Empty, or what is wrong: which value, and what is allowed.
std::string set(Setting& setting, std::string_view name, const std::string& value);

/// Empty, or how fields of a setting contradict each other.
std::string complaint(const Setting& setting);

}  // namespace nezha_simulate
