// SPDX-License-Identifier: BSD-3-Clause
/// The messages by which a process gets the shared memory of a team from the member that made it, over a Unix socket
/// that keeps messages apart (SOCK_SEQPACKET). Little endian:
///   HELLO      joining side   magic "NZNH", version u16, 2 zeros, member u32, members u32, team u64, size u64, nonce
///   CHALLENGE  making side    its nonce, and its MAC of everything said so far
///   PROOF      joining side   its MAC of the same
///   ANSWER     making side    one byte NodeAnswer; with `welcome` comes the descriptor (SCM_RIGHTS)
/// A MAC is HMAC-SHA256 by the secret of the two processes over the role, the whole HELLO and the other nonce. The
/// kernel tells each side the other's user, which has to be its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "util/fd.h"
#include "util/hmac.h"
#include "util/status.h"

namespace nezha {

constexpr std::size_t kNodeNonce = 16, kNodeHello = 48;
constexpr std::size_t kNodeChallenge = kNodeNonce + kMacSize;

using NodeNonce = std::array<std::byte, kNodeNonce>;
using NodeHelloBytes = std::array<std::byte, kNodeHello>;
/// The name of a process's Unix socket, in the abstract namespace. Random, so that nobody can be there before it.
using NodeName = std::array<std::byte, 16>;

struct NodeHello {
  std::uint64_t team = 0;
  std::uint32_t member = 0, members = 0;
  std::uint64_t size = 0;  ///< of the memory
  NodeNonce nonce{};
};

enum class NodeRole : std::uint8_t { joining = 'J', making = 'M' };
enum class NodeAnswer : std::uint8_t { welcome = 1, differs = 2 };

NodeHelloBytes write_node_hello(const NodeHello& hello);
/// From untrusted bytes.
Status read_node_hello(const NodeHelloBytes& from, NodeHello& hello);
Mac make_node_mac(const Secret& secret, NodeRole role, const NodeHelloBytes& hello, const NodeNonce& nonce);

/// A whole message or nothing. The socket does not block.
Status send_node_message(const Fd& socket, std::span<const std::byte> message, int descriptor = -1);

enum class NodeReceived { message, nothing, closed, bad };
/// A message of exactly `into.size()` bytes. `descriptor`, if not nullptr, takes one that came along; others are
/// closed.
NodeReceived receive_node_message(const Fd& socket, std::span<std::byte> into, Fd* descriptor = nullptr);

/// True when the process at the other end has this one's user.
bool is_own_user(const Fd& socket);

}  // namespace nezha
