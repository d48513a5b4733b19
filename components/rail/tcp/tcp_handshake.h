// SPDX-License-Identifier: BSD-3-Clause
/// A handshake over a socket. Reads exactly the bytes of each message, so that the first frame stays in the socket.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "rail/handshake.h"
#include "util/clock.h"
#include "util/fd.h"
#include "util/status.h"

namespace nezha {

class TcpHandshake {
 public:
  using Outcome = Handshake::Outcome;

  /// The connecting side; `fd` has a connect(2) under way.
  TcpHandshake(Fd fd, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds deadline, ProcessId self);
  /// The accepting side; `rail` is the transport's, `rail_index` the same rail in the process's list.
  TcpHandshake(Fd fd, std::size_t rail, std::uint8_t rail_index, std::string peer, Nanoseconds deadline, ProcessId self);

  /// Goes on as far as the socket permits. Failed: why() has the reason.
  Outcome proceed(const Admission& admission);

  bool connecting_side() const { return talk_.connecting_side(); }
  /// True while the socket is to be watched for being writable instead of readable.
  bool wants_write() const { return connecting_; }
  /// True once the other side has named processes that know each other; nobody outside the job can.
  bool has_said_hello() const { return talk_.has_said_hello(); }
  const LaneSpec& spec() const { return talk_.spec(); }
  std::size_t rail() const { return rail_; }
  const std::string& peer() const { return peer_; }  ///< who is at the other end, for texts
  Nanoseconds deadline() const { return deadline_; }
  /// It ends at `deadline` at the earliest.
  void extend(Nanoseconds deadline) { deadline_ = std::max(deadline_, deadline); }
  const Status& why() const { return why_; }
  int fd() const { return fd_.get(); }
  Fd take_fd() { return std::move(fd_); }
  void close() { fd_.reset(); }

 private:
  Status connected();
  Outcome take_message(const Admission& admission);
  Status send_message(std::span<const std::byte> message) const;

  Fd fd_;
  Handshake talk_;
  bool connecting_;  ///< a connect(2) is under way
  const std::size_t rail_;
  const std::string peer_;
  Nanoseconds deadline_;
  std::array<std::byte, Handshake::kMaxMessage> message_{};
  std::size_t got_ = 0;
  Status why_;
};

}  // namespace nezha
