// SPDX-License-Identifier: BSD-3-Clause
/// One rail of a simulated process and the NIC behind it, through which its streams go in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rail/sim/network.h"
#include "rail/sim/stream.h"

namespace nezha {

struct SimPortOptions {
  std::string name = "sim0";
  std::uint8_t network = 0;          ///< ports of one network can be joined by a lane
  double rate = 0.125;               ///< bytes per nanosecond
  Nanoseconds delay = 20 * kMicrosecond;  ///< one way, half of it on either side
  Nanoseconds jitter = 0;            ///< up to this much more
  std::uint32_t speed_mbps = 0;      ///< what it says of itself
  bool queues = false;               ///< its lanes are RDMA connections (queue_kind.h)
};

class SimPort {
 public:
  SimPort(SimNetwork& network, const SimPortOptions& options) : network_(network), options_(options) {}
  SimPort(const SimPort&) = delete;
  SimPort& operator=(const SimPort&) = delete;

  const SimPortOptions& options() const { return options_; }
  /// It has a carrier.
  bool up() const { return up_; }
  /// How often it went down: who waits for the notice of an outage compares.
  std::uint64_t outages() const { return outages_; }
  void set_up(bool up);
  void set_rate(double rate) { options_.rate = rate; }
  /// Silent loss: nothing that it sends gets anywhere; nothing that is sent to it comes in. Its carrier stays.
  void set_mute(bool mute) { mute_ = mute; }
  void set_deaf(bool deaf) { deaf_ = deaf; }
  /// Both for good.
  void destroy() { destroyed_ = true; }
  bool sends() const { return up_ && !mute_ && !destroyed_; }
  bool hears() const { return up_ && !deaf_ && !destroyed_; }

  /// The stream may have something to send.
  void offer(SimStream& stream);
  /// When what is leaving it now has left.
  Nanoseconds free_at() const { return sending_ ? sending_until_ : 0; }
  /// When `size` bytes that reach this side at `when` have come through it.
  Nanoseconds receive(Nanoseconds when, std::size_t size);

 private:
  void send_next();

  SimNetwork& network_;
  SimPortOptions options_;
  bool up_ = true, mute_ = false, deaf_ = false, destroyed_ = false;
  std::uint64_t outages_ = 0;
  bool sending_ = false;
  Nanoseconds sending_until_ = 0, receiving_until_ = 0;
  std::vector<std::shared_ptr<SimStream>> queue_;  ///< served in turn
};

}  // namespace nezha
