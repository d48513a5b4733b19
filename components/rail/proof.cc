// SPDX-License-Identifier: BSD-3-Clause
#include "rail/proof.h"

#include <algorithm>
#include <string>

#include "util/bytes.h"

namespace nezha {
namespace {

constexpr std::uint32_t kMagic = 'N' | 'Z' << 8 | 'H' << 16 | std::uint32_t{'I'} << 24;
constexpr std::uint64_t kWelcome = 0x21'65'6d'6f'63'6c'65'57;  // "Welcome!"
constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kSameNode = 1;

enum Offset : std::size_t { magic = 0, version = 4, flags = 6, from_id = 8, to_id = 16, rails = 24, nonce_at = 32 };

}  // namespace

HelloBytes write_hello(const Hello& hello) {
  HelloBytes to{};
  store_le<std::uint32_t>(&to[magic], kMagic);
  store_le<std::uint16_t>(&to[version], kVersion);
  store_le<std::uint16_t>(&to[flags], hello.same_node ? kSameNode : 0);
  store_le<std::uint64_t>(&to[from_id], hello.from);
  store_le<std::uint64_t>(&to[to_id], hello.to);
  store_le<std::uint8_t>(&to[rails], hello.from_rail);
  store_le<std::uint8_t>(&to[rails + 1], hello.to_rail);
  std::copy(hello.nonce.begin(), hello.nonce.end(), to.begin() + nonce_at);
  return to;
}

Status read_hello(const HelloBytes& from, Hello& hello) {
  if (load_le<std::uint32_t>(&from[magic]) != kMagic) return {Code::bad_wire, "it does not speak this protocol"};
  const auto spoken = load_le<std::uint16_t>(&from[version]);
  if (spoken != kVersion) {
    return {Code::bad_wire, "it speaks version " + std::to_string(spoken) + " of the handshake, this side " +
                                std::to_string(kVersion)};
  }
  const auto flag_bits = load_le<std::uint16_t>(&from[flags]);
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  if ((flag_bits & ~kSameNode) != 0 || !std::all_of(from.begin() + rails + 2, from.begin() + nonce_at, is_zero)) {
    return {Code::bad_wire, "its greeting has unknown flags"};
  }
  hello.same_node = (flag_bits & kSameNode) != 0;
  hello.from = load_le<std::uint64_t>(&from[from_id]);
  hello.to = load_le<std::uint64_t>(&from[to_id]);
  hello.from_rail = load_le<std::uint8_t>(&from[rails]);
  hello.to_rail = load_le<std::uint8_t>(&from[rails + 1]);
  std::copy_n(from.begin() + nonce_at, kNonceSize, hello.nonce.begin());
  return {};
}

Proof make_proof(const Secret& secret, ProofRole role, const Said& said) {
  std::array<std::byte, 1 + kHelloSize + kNonceSize + 2 * kMaxWords> all;
  auto end = all.begin();
  *end++ = static_cast<std::byte>(role);
  end = std::copy(said.hello.begin(), said.hello.end(), end);
  end = std::copy(said.connecting_words.begin(), said.connecting_words.end(), end);
  end = std::copy(said.nonce.begin(), said.nonce.end(), end);
  end = std::copy(said.accepting_words.begin(), said.accepting_words.end(), end);
  return hmac_sha256(secret, std::span(all.begin(), end));
}

bool same_proof(std::span<const std::byte, kProofSize> one, std::span<const std::byte, kProofSize> other) {
  return same_mac(one, other);
}

std::array<std::byte, kWelcomeSize> welcome_message() {
  std::array<std::byte, kWelcomeSize> message;
  store_le<std::uint64_t>(message.data(), kWelcome);
  return message;
}

}  // namespace nezha
