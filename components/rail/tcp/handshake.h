// SPDX-License-Identifier: BSD-3-Clause
/// One connection on its way to become a lane: either side of the exchange in proof.h. Reads exactly the bytes of each
/// message, so that the first frame stays in the socket.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "rail/rail.h"
#include "util/fd.h"
#include "rail/proof.h"
#include "util/clock.h"
#include "util/status.h"

namespace nezha {

class Handshake {
 public:
  enum class Outcome { pending, admitted, failed };

  /// The connecting side; `fd` has a connect(2) under way.
  Handshake(Fd fd, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds deadline, ProcessId self);
  /// The accepting side; `rail` is the transport's, `rail_index` the same rail in the process's list.
  Handshake(Fd fd, std::size_t rail, std::uint8_t rail_index, std::string peer, Nanoseconds deadline, ProcessId self);

  /// Goes on as far as the socket permits. Failed: why() has the reason.
  Outcome proceed(const Admission& admission);

  bool connecting_side() const { return connecting_side_; }
  /// True while the socket is to be watched for being writable instead of readable.
  bool wants_write() const { return step_ == Step::connect; }
  /// True once the other side has named processes that know each other; nobody outside the job can.
  bool has_said_hello() const { return step_ > Step::hello; }
  const LaneSpec& spec() const { return spec_; }
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
  enum class Step { connect, hello, challenge, proof, welcome };  ///< what is awaited

  Status connected();
  Status answer_hello(const Admission& admission);
  Status answer_challenge(const Admission& admission);
  Status check_proof(const Admission& admission);
  Status check_welcome() const;
  /// `message_` is whole.
  Status handle_message(const Admission& admission, bool& admitted);
  void await(Step step, std::size_t size);
  Status send_message(std::span<const std::byte> message) const;

  Fd fd_;
  const bool connecting_side_;
  Step step_;
  LaneSpec spec_;
  const std::size_t rail_;
  const std::string peer_;
  Nanoseconds deadline_;
  const ProcessId self_;
  HelloBytes hello_{};
  Nonce accepting_nonce_{};
  std::array<std::byte, kHelloSize> message_{};  ///< the longest
  std::size_t got_ = 0, wanted_ = 0;
  Status why_;
};

static_assert(kHelloSize >= kChallengeSize);

}  // namespace nezha
