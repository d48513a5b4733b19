// SPDX-License-Identifier: BSD-3-Clause
/// The messages by which two processes prove to each other that they know the secret they share, before a connection
/// becomes a lane. Fixed sizes, little endian:
///   HELLO      connecting side   magic "NZHI", version u16, flags u16, from u64, to u64, rails u8 u8, 6 zeros, nonce
///   CHALLENGE  accepting side    its nonce, and its proof of everything said so far and of its words
///   PROOF      connecting side   its proof of the same
///   WELCOME    accepting side    8 fixed bytes: the lane is up
/// A proof is HMAC-SHA256 by the secret over the role, the whole HELLO, the connecting side's words, the other nonce and the
/// other side's words, so that neither can be turned around, replayed, or used for another pair of processes or rails. Words
/// are what a kind of rail has to say besides (TCP: nothing); they follow HELLO and CHALLENGE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rail/rail.h"
#include "util/hmac.h"
#include "util/status.h"

namespace nezha {

constexpr std::size_t kNonceSize = 16;
constexpr std::size_t kProofSize = kMacSize;
constexpr std::size_t kHelloSize = 48;
constexpr std::size_t kChallengeSize = kNonceSize + kProofSize;
constexpr std::size_t kWelcomeSize = 8;
constexpr std::size_t kMaxWords = 64;  ///< of one side

using Nonce = std::array<std::byte, kNonceSize>;
using Proof = Mac;
using HelloBytes = std::array<std::byte, kHelloSize>;

enum class ProofRole : std::uint8_t { connecting = 'C', accepting = 'S' };

struct Hello {
  ProcessId from = 0;  ///< the connecting process
  ProcessId to = 0;
  std::uint8_t from_rail = 0;  ///< indices into the two processes' lists of rails
  std::uint8_t to_rail = 0;
  bool same_node = false;
  Nonce nonce{};
};

HelloBytes write_hello(const Hello& hello);
/// From untrusted bytes.
Status read_hello(const HelloBytes& from, Hello& hello);

/// What is proved. The words of both sides are equally many, which the kind of rail decides.
struct Said {
  const HelloBytes& hello;
  std::span<const std::byte> connecting_words;
  const Nonce& nonce;
  std::span<const std::byte> accepting_words;
};

Proof make_proof(const Secret& secret, ProofRole role, const Said& said);
/// In constant time.
bool same_proof(std::span<const std::byte, kProofSize> one, std::span<const std::byte, kProofSize> other);

std::array<std::byte, kWelcomeSize> welcome_message();

}  // namespace nezha
