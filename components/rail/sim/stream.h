// SPDX-License-Identifier: BSD-3-Clause
/// One direction of a simulated connection, as two kernels keep it: bytes in order, the sender's buffer in front and the
/// receiver's behind. What vanishes on the way is sent again, at first soon, then ever later.
#pragma once

#include <cstddef>
#include <memory>
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

class SimStream : public std::enable_shared_from_this<SimStream> {
 public:
  SimStream(SimNetwork& network, SimPort& from, SimPort& to)
      : network_(network), from_(from), to_(to), answered_at_(network.now()), arrived_at_(network.now()) {}

  // ---- the writing end
  std::size_t room() const;
  void write(const std::byte* bytes, std::size_t size);
  /// Bytes written that the other side's kernel has not answered, as far as this side knows.
  std::size_t under_way() const { return written_ - answered_; }
  /// Of them, what the other side has room for and would answer if it came.
  std::size_t unanswered() const;
  /// Bytes that were answered, ever, and when the last answer came (or the stream began).
  std::size_t answered() const { return answered_; }
  Nanoseconds answered_at() const { return answered_at_; }
  /// Nothing more is written: what was written still travels, then the stream ends.
  void end();
  /// The same, but what has not left yet is lost, and some of what is on its way.
  void abort();
  /// What has not left yet takes so much longer.
  void slow_down(Nanoseconds delay) { slower_ = delay; }

  // ---- the reading end
  std::size_t available() const { return arrived_ - read_; }
  std::size_t read(std::byte* to, std::size_t size);
  /// When the last bytes came (or the stream began).
  Nanoseconds arrived_at() const { return arrived_at_; }
  /// What is available now is all that will ever be.
  bool ended() const { return ended_; }
  /// Nobody reads any more: what comes is thrown away.
  void abandon();

  // ---- the port
  /// How many bytes could leave now.
  std::size_t sendable() const;
  void sent(std::size_t size);
  bool between(const SimPort& port) const { return &from_ == &port || &to_ == &port; }
  /// Bytes come through now, in its direction.
  bool open() const;
  /// The network between the two ports has forgotten the connection: nothing comes through any more.
  void cut() { cut_ = true; }
  bool is_cut() const { return cut_; }

  SimStreamUser* writer = nullptr;  ///< null: not there yet, or gone
  SimStreamUser* reader = nullptr;
  bool queued = false;  ///< the port's

 private:
  bool answers_open() const;
  void arrive(std::size_t size);
  void take_answer();
  void try_later();
  void try_again();
  void finish_if_drained();
  void arrive_end();
  void throw_away();
  Nanoseconds delay() const;

  SimNetwork& network_;
  SimPort& from_;
  SimPort& to_;
  std::vector<std::byte> bytes_;  ///< from read_ - consumed_ on
  std::size_t consumed_ = 0;      ///< bytes at the front of bytes_ that were read
  // Positions in the stream. Written are most, then those sent, then those arrived; of these some are read, some answered.
  std::size_t written_ = 0, sent_ = 0, arrived_ = 0, read_ = 0, answered_ = 0;
  Nanoseconds last_arrival_ = 0;  ///< of what is on its way
  Nanoseconds answered_at_, arrived_at_;
  Nanoseconds slower_ = 0;
  bool lost_ = false;     ///< the next bytes have vanished once: they wait for another try
  bool trying_ = false;   ///< a try is due
  unsigned tries_ = 0;    ///< since the last answer
  bool closing_ = false, end_sent_ = false, ended_ = false, abandoned_ = false, cut_ = false;
};

}  // namespace nezha
