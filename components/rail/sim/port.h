// SPDX-License-Identifier: BSD-3-Clause
/// One rail of a simulated process, the NIC behind it, and the byte streams that go through it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rail/sim/network.h"

namespace nezha {

class SimPort;

/// Who writes or reads a stream.
class SimStreamUser {
 public:
  /// There is more to read, more room to write, or an end.
  virtual void stream_changed() = 0;

 protected:
  ~SimStreamUser() = default;
};

/// One direction of a connection: bytes in order, with the sender's buffer in front and the receiver's behind.
class SimStream : public std::enable_shared_from_this<SimStream> {
 public:
  SimStream(SimNetwork& network, SimPort& from, SimPort& to)
      : network_(network), from_(from), to_(to), arrived_at_(network.now()) {}

  // ---- the writing end
  std::size_t room() const;
  void write(const std::byte* bytes, std::size_t size);
  /// Bytes written that have not arrived on the other side.
  std::size_t under_way() const { return written_ - arrived_; }
  /// Of them, what the other side's kernel has room for and would answer if it came.
  std::size_t unanswered() const;
  /// Bytes that have arrived there, ever, and when the last of them did (or the stream began).
  std::size_t arrived() const { return arrived_; }
  Nanoseconds last_arrival() const { return arrived_at_; }
  /// Nothing more is written: what was written still travels, then the stream ends.
  void end();
  /// The same, but what has not left yet is lost, and some of what is on its way.
  void abort();
  /// What has not left yet takes so much longer.
  void slow_down(Nanoseconds delay) { slower_ = delay; }

  // ---- the reading end
  std::size_t available() const { return arrived_ - read_; }
  std::size_t read(std::byte* to, std::size_t size);
  /// What is available now is all that will ever be.
  bool ended() const { return ended_; }
  /// Nobody reads any more: what comes is thrown away.
  void abandon();

  // ---- the port
  /// How many bytes could leave now.
  std::size_t sendable() const;
  void sent(std::size_t size);
  bool between(const SimPort& port) const { return &from_ == &port || &to_ == &port; }
  /// The way is open: both ports are up.
  bool open() const;
  void path_changed();

  SimStreamUser* writer = nullptr;  ///< null: not there yet, or gone
  SimStreamUser* reader = nullptr;
  bool queued = false;  ///< the port's

 private:
  void arrive(std::size_t size);
  void arrive_end();
  void finish_if_drained();
  void throw_away();

  SimNetwork& network_;
  SimPort& from_;
  SimPort& to_;
  std::vector<std::byte> bytes_;  ///< from read_ - consumed_ on
  std::size_t consumed_ = 0;      ///< bytes at the front of bytes_ that were read
  // Positions in the stream, each at most the one before it.
  std::size_t written_ = 0, sent_ = 0, arrived_ = 0, read_ = 0;
  Nanoseconds last_arrival_ = 0;  ///< of what is on its way
  Nanoseconds arrived_at_;
  Nanoseconds slower_ = 0;
  bool closing_ = false, end_sent_ = false, ended_ = false, abandoned_ = false;
};

struct SimPortOptions {
  std::string name = "sim0";
  std::uint8_t network = 0;          ///< ports of one network can be joined by a lane
  double rate = 0.125;               ///< bytes per nanosecond
  Nanoseconds delay = 20 * kMicrosecond;  ///< one way, half of it on either side
  Nanoseconds jitter = 0;            ///< up to this much more
  std::uint32_t speed_mbps = 0;      ///< what it says of itself
};

class SimPort {
 public:
  SimPort(SimNetwork& network, const SimPortOptions& options) : network_(network), options_(options) {}
  SimPort(const SimPort&) = delete;
  SimPort& operator=(const SimPort&) = delete;

  const SimPortOptions& options() const { return options_; }
  bool up() const { return up_; }
  /// How often it went down: who waits for the notice of an outage compares.
  std::uint64_t outages() const { return outages_; }
  void set_up(bool up);
  void set_rate(double rate) { options_.rate = rate; }

  void add(const std::shared_ptr<SimStream>& stream) { streams_.push_back(stream); }
  /// The stream may have something to send.
  void offer(SimStream& stream);
  /// When `size` bytes that reach this side at `when` have come through it.
  Nanoseconds receive(Nanoseconds when, std::size_t size);

 private:
  void send_next();

  SimNetwork& network_;
  SimPortOptions options_;
  bool up_ = true;
  std::uint64_t outages_ = 0;
  bool sending_ = false;
  Nanoseconds receiving_until_ = 0;
  std::vector<std::shared_ptr<SimStream>> queue_;  ///< served in turn
  std::vector<std::weak_ptr<SimStream>> streams_;  ///< in either direction
};

}  // namespace nezha
