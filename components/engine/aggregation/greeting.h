// SPDX-License-Identifier: BSD-3-Clause
/// How a rank and an aggregator get to know each other, over a TCP connection of its own before there are lanes. Little
/// endian:
///   HELLO    rank        magic u64, nonce 16, size u16, the rank's address (address.h) without its key
///   ANSWER   aggregator  nonce 16, size u16, its address without key, proof 32
///   PROOF    rank        proof 32
///   WELCOME  aggregator  magic u64
/// A proof is HMAC-SHA256 with the key of the file over the role and all of HELLO and ANSWER up to the proof. The secret of the
/// pair, by which its lanes are admitted, is the same with another role: it is never sent. A rank whose address has no rails only
/// asks (inquiry.h): it is welcome and no client. The aggregator of a rack greets its upstream one as ranks do; one that has an upstream
/// aggregator is greeted by ranks alone, so that the tree has two levels. While it lacks that, its ANSWER says why and is the last word.
///
/// Nothing here blocks; step() goes on as far as it can. Guarded by the engine's lock.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/address.h"
#include "util/clock.h"
#include "util/fd.h"
#include "util/hmac.h"
#include "util/status.h"

namespace nezha {

/// One side's part of a greeting.
class Greeting {
 public:
  enum class Side { rank, aggregator };
  enum class State { pending, done, failed };

  /// `fd`: a non-blocking stream that is connected, or, the rank's, about to be.
  Greeting(Side side, Fd fd, const Secret& key, const Address& own, Nanoseconds deadline);

  State step(Nanoseconds now);
  int fd() const { return fd_.get(); }
  /// The other side's kernel has answered.
  bool connected() const { return !connecting_; }
  /// Nothing has come of the other side.
  bool silent() const;
  bool wants_write() const { return connecting_ || !out_.empty(); }
  Nanoseconds deadline() const { return deadline_; }
  const Status& why() const { return why_; }
  // ---- once it is done
  const Address& peer() const { return peer_; }
  const Secret& secret() const { return secret_; }

 private:
  using Bytes = std::vector<std::byte>;

  State fail(Code code, const std::string& text);
  bool flush();
  bool fill();
  State go_on();
  State take_hello();
  State take_answer();
  State take_proof();
  State take_welcome();
  /// Length of the message that begins `in_` and has an address at its end, 0: not all of its head is here.
  std::size_t length(std::size_t head, std::size_t tail) const;
  Mac mac(char role) const;
  void add_address(const Address& own);

  Side side_;
  Fd fd_;
  const Secret key_;
  const Address own_;
  const Nanoseconds deadline_;
  bool connecting_;
  enum class Next { hello, answer, proof, welcome, nothing } next_;
  Bytes in_, out_;
  Bytes said_;  ///< HELLO and ANSWER without its proof
  Address peer_;
  Secret secret_{};
  Status why_;
};

}  // namespace nezha
