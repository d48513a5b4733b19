// SPDX-License-Identifier: BSD-3-Clause
#include "perftest.h"

#include <algorithm>

namespace nezha_simulate {

WriteModel::WriteModel() {
  const WriteRow& smallest = kWriteRows[0];
  const WriteRow& fetched = kWriteRows[1];
  posting_ = static_cast<double>(smallest.size) / smallest.gbytes_per_s;
  base_ = 1000 * smallest.latency_us - through(smallest.size);
  fetch_ = 1000 * fetched.latency_us - base_ - through(fetched.size);
}

void WriteModel::pass(std::int64_t size, double posted, Stages& at) const {
  at.read = std::max(at.read, posted);
  for (std::int64_t left = size; left > 0; left -= mtu_payload_) {
    const std::int64_t payload = std::min<std::int64_t>(left, mtu_payload_);
    at.read += pcie_.latency(payload);
    at.wire = std::max(at.wire, at.read) + static_cast<double>(payload + mtu_header_) / wire_gbytes_per_s_;
    at.written = std::max(at.written, at.wire) + pcie_.latency(payload);
  }
}

double WriteModel::through(std::int64_t size) const {
  Stages at;
  pass(size, 0, at);
  return at.written;
}

double WriteModel::latency(std::int64_t size) const { return base_ + (size > inlined_ ? fetch_ : 0) + through(size); }

double WriteModel::gbytes_per_s(std::int64_t size) const {
  constexpr int kFilling = 16, kCounted = 16;
  Stages at;
  double filled = 0;
  for (int message = 0; message < kFilling + kCounted; ++message) {
    if (message == kFilling) filled = at.written;
    pass(size, message * posting_, at);
  }
  return kCounted * static_cast<double>(size) / (at.written - filled);
}

}  // namespace nezha_simulate
