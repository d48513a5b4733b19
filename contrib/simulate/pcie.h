/* SPDX-License-Identifier: BSD-3-Clause */
/// Times on a PCIe link and the overhead of converting packets: equations (1) to (3) of SAURON's paper on intra-node
/// communication. Times are nanoseconds, rates Gbit/s, sizes bytes.
#pragma once

#include <cstdint>

namespace nezha_simulate {

/// A link, by default that of the paper's NIC. The paper gives no sizes of DLLPs and no AckFactor: those here are the
/// PCI Express specification's, of an ack (2 bytes of framing, 6 of content) and of 16 lanes with 128-byte payloads.
struct PcieLink {
  int lanes = 16;
  double gbps_per_lane = 8;
  double encoding = 128.0 / 130.0;
  int tlp_overhead = 20;
  int max_payload = 128;
  int dllp_overhead = 2;
  int dllp_size = 6;
  double ack_factor = 3.0;

  double gbps() const { return lanes * gbps_per_lane * encoding; }
  /// The paper's BytesPerNs; its equation gives bits.
  double bytes_per_ns() const { return gbps() / 8; }
  double tlp_time() const { return (tlp_overhead + max_payload) / bytes_per_ns(); }
  double dllp_time() const { return (dllp_overhead + dllp_size) / bytes_per_ns(); }
  std::int64_t tlps(std::int64_t message) const { return (message + max_payload - 1) / max_payload; }
  double acks(std::int64_t message) const { return static_cast<double>(tlps(message)) / ack_factor; }
  double latency(std::int64_t message) const {
    return static_cast<double>(tlps(message)) * tlp_time() + acks(message) * dllp_time();
  }
};

/// Equation (2): how many bytes packets inside a node take for each byte of packets between nodes.
inline double traffic_overhead(double intra_header, double intra_payload, double inter_header, double inter_payload) {
  return (intra_header / intra_payload + 1) / (inter_header / inter_payload + 1);
}

/// Equation (3): the throughput of all nodes in Gbit/s that the paper's fit expects once the NICs are saturated.
inline double fitted_throughput(double model_adjustment, double overhead, double inter_percent, int nodes) {
  return model_adjustment / (overhead * inter_percent) * nodes;
}

}  // namespace nezha_simulate
