/* SPDX-License-Identifier: BSD-3-Clause */
/// ib_write of the InfiniBand perftest between two hosts: PCIe to the NIC, the wire, PCIe to the other host's memory.
/// Times are nanoseconds, sizes bytes, rates GB/s (1e9 bytes a second).
#pragma once

#include <cstdint>

#include "pcie.h"

namespace nezha_simulate {

/// A row of the paper's Table 1, columns ib_write.
struct WriteRow {
  std::int64_t size;
  double gbytes_per_s;
  double latency_us;
};
inline constexpr WriteRow kWriteRows[] = {
    {128, 0.44, 1.12},         {256, 0.87, 1.56},       {512, 1.75, 1.58},         {1 << 10, 3.30, 1.70},
    {2 << 10, 7.35, 1.95},     {4 << 10, 11.02, 2.46},  {8 << 10, 11.58, 2.84},    {16 << 10, 11.53, 3.88},
    {32 << 10, 11.60, 5.41},   {64 << 10, 11.62, 8.06}, {128 << 10, 11.90, 13.39}, {256 << 10, 11.92, 24.27},
    {512 << 10, 11.93, 45.73}, {1 << 20, 11.93, 88.95}, {2 << 20, 11.93, 174.65},  {4 << 20, 11.86, 345.97},
};

/// A pipeline of three stages through which packets of one MTU pass, each stage holding a whole packet. What hosts and
/// NICs take beside it is three times, which Table 1's two smallest messages give; all else follows from the paper's
/// text.
class WriteModel {
 public:
  WriteModel();

  /// One message, from the post to its last byte in the other host's memory.
  double latency(std::int64_t size) const;
  /// A long row of messages, each posted as soon as the one before it lets the host.
  double gbytes_per_s(std::int64_t size) const;

 private:
  struct Stages {
    double read = 0, wire = 0, written = 0;
  };
  void pass(std::int64_t size, double posted, Stages& at) const;
  double through(std::int64_t size) const;

  PcieLink pcie_;
  double wire_gbytes_per_s_ = 12.5 * 64 / 66;
  int mtu_payload_ = 4032;
  int mtu_header_ = 64;
  /// perftest's: up to here the host writes the message into the NIC, beyond it the NIC fetches it first.
  std::int64_t inlined_ = 220;
  double posting_;
  double base_;
  double fetch_;
};

}  // namespace nezha_simulate
