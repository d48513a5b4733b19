// SPDX-License-Identifier: BSD-3-Clause
/// One process's way to the shared memory that another one of its node has made: the joining side of node_greeting.h.
/// Nothing blocks; not thread-safe.
#pragma once

#include "node/node_greeting.h"
#include "util/clock.h"

namespace nezha {

class NodeConnector {
 public:
  enum class Outcome { pending, joined, failed };

  /// `hello` without its nonce. `maker`: the name of the maker's socket. The deadline is on the clock of proceed().
  NodeConnector(const NodeName& maker, const NodeHello& hello, const Secret& secret, Nanoseconds deadline);

  /// Goes on as far as that is possible without waiting. Failed: why() has the reason.
  Outcome proceed(Nanoseconds now);

  const Status& why() const { return why_; }
  /// When joined: the memory, and the connection, which ends when the maker's process does.
  Fd take_memory() { return std::move(memory_); }
  Fd take_connection() { return std::move(connection_); }

 private:
  enum class Step { connect, challenge, answer, joined, failed };

  bool connect_to_maker();
  bool answer_challenge();
  bool read_answer();
  bool fail(Code code, std::string text);
  bool received(NodeReceived what);

  const NodeName maker_;
  NodeHello hello_;
  NodeHelloBytes hello_bytes_{};
  const Secret secret_;
  const Nanoseconds deadline_;
  Step step_ = Step::connect;
  Fd connection_, memory_;
  Status why_;
};

}  // namespace nezha
