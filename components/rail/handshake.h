// SPDX-License-Identifier: BSD-3-Clause
/// One connection on its way to become a lane: either side of the exchange in proof.h, of every kind of rail. Knows no sockets:
/// the transport carries the messages, each whole, whatever it has for that. A kind that needs more of the other side than it
/// publishes (a queue pair's number) gives the handshake words, which travel with HELLO and CHALLENGE and are proved with them.
///
///   connecting side                                       accepting side
///   begin()               --- HELLO, its words --->       take()
///   take()                <-- CHALLENGE, its words ---
///                         --- PROOF --->                  take(): admitted, when it has given its answer to the transport
///   take(): admitted      <-- WELCOME ---
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "rail/proof.h"
#include "rail/rail.h"
#include "util/status.h"

namespace nezha {

class Handshake {
 public:
  enum class Outcome { pending, admitted, failed };
  static constexpr std::size_t kMaxMessage = kHelloSize + kMaxWords;

  /// Fills the words that this side says of a lane of that spec; not ok: it cannot have one now. Called on the accepting side
  /// only for a peer that is known and a lane that is expected, which does not mean that it is the peer.
  using Words = std::function<Status(const LaneSpec& spec, std::span<std::byte> words)>;

  /// The connecting side. `word_bytes`: how many each side says, at most kMaxWords; every rail of a kind has the same number.
  Handshake(const LaneSpec& spec, ProcessId self, std::size_t word_bytes = 0, Words words = {});
  /// The accepting side, on the process's rail of that number.
  Handshake(std::uint8_t rail, ProcessId self, std::size_t word_bytes = 0, Words words = {});

  /// The connecting side's first message, to be sent as soon as there is a connection.
  Status begin();
  /// Bytes of the other side's next message. Read no more than these: the lane's first frame may be behind them.
  std::size_t wanted() const { return wanted_; }
  /// That message has come. Pending and admitted: answer() is to be sent if it is not empty. Failed: why() has the reason.
  Outcome take(std::span<const std::byte> message, const Admission& admission);
  /// What begin() or take() has to say.
  std::span<const std::byte> answer() const { return {answer_.data(), answer_size_}; }

  bool connecting_side() const { return connecting_side_; }
  /// True once the other side has named processes that know each other; nobody outside the job can.
  bool has_said_hello() const { return step_ > Step::hello; }
  const LaneSpec& spec() const { return spec_; }
  /// What the other side said; nothing to rely on before it is admitted.
  std::span<const std::byte> their_words() const { return {said_[connecting_side_ ? 1 : 0].data(), word_bytes_}; }
  const Status& why() const { return why_; }

 private:
  enum class Step { begin, hello, challenge, proof, welcome };  ///< what is awaited
  using WordBytes = std::array<std::byte, kMaxWords>;

  Status take_hello(std::span<const std::byte> message, const Admission& admission);
  Status take_challenge(std::span<const std::byte> message, const Admission& admission);
  Status take_proof(std::span<const std::byte> message, const Admission& admission);
  Status take_welcome(std::span<const std::byte> message, const Admission& admission) const;
  Status my_words();
  Status prove(const Admission& admission, ProofRole role, Proof& proof) const;
  std::span<const std::byte> words_of(ProofRole role) const;
  void say(std::span<const std::byte> bytes);
  void await(Step step, std::size_t size);

  const bool connecting_side_;
  Step step_;
  LaneSpec spec_;
  const ProcessId self_;
  const std::size_t word_bytes_;
  const Words words_;
  HelloBytes hello_{};
  Nonce accepting_nonce_{};
  Secret secret_{};  ///< by which the connecting side has proved itself
  std::array<WordBytes, 2> said_{};  ///< the connecting side's words, and the other's
  std::array<std::byte, kMaxMessage> answer_{};
  std::size_t answer_size_ = 0, wanted_ = 0;
  Status why_;
};

static_assert(kHelloSize >= kChallengeSize);

}  // namespace nezha
