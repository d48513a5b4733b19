// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_greeting.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "util/bytes.h"

namespace nezha {
namespace {

constexpr std::uint32_t kMagic = 'N' | 'Z' << 8 | 'N' << 16 | std::uint32_t{'H'} << 24;
constexpr std::uint16_t kVersion = 1;

enum Offset : std::size_t {
  magic = 0,
  version = 4,
  zeros = 6,
  member_at = 8,
  members_at = 12,
  team_at = 16,
  size_at = 24,
  nonce_at = 32
};

/// Takes the first descriptor of a message, and closes all others.
void take_descriptors(msghdr& header, Fd* into) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      Fd owned(descriptor);
      if (into != nullptr && !*into) *into = std::move(owned);
    }
  }
}

}  // namespace

NodeHelloBytes write_node_hello(const NodeHello& hello) {
  NodeHelloBytes to{};
  store_le<std::uint32_t>(&to[magic], kMagic);
  store_le<std::uint16_t>(&to[version], kVersion);
  store_le<std::uint32_t>(&to[member_at], hello.member);
  store_le<std::uint32_t>(&to[members_at], hello.members);
  store_le<std::uint64_t>(&to[team_at], hello.team);
  store_le<std::uint64_t>(&to[size_at], hello.size);
  std::copy(hello.nonce.begin(), hello.nonce.end(), to.begin() + nonce_at);
  return to;
}

Status read_node_hello(const NodeHelloBytes& from, NodeHello& hello) {
  if (load_le<std::uint32_t>(&from[magic]) != kMagic) return {Code::bad_wire, "it does not speak this protocol"};
  const auto spoken = load_le<std::uint16_t>(&from[version]);
  if (spoken != kVersion || load_le<std::uint16_t>(&from[zeros]) != 0) {
    return {Code::bad_wire,
            "it speaks version " + std::to_string(spoken) + " of the handshake, this side " + std::to_string(kVersion)};
  }
  hello.member = load_le<std::uint32_t>(&from[member_at]);
  hello.members = load_le<std::uint32_t>(&from[members_at]);
  hello.team = load_le<std::uint64_t>(&from[team_at]);
  hello.size = load_le<std::uint64_t>(&from[size_at]);
  std::copy_n(from.begin() + nonce_at, kNodeNonce, hello.nonce.begin());
  if (hello.member >= hello.members) return {Code::bad_wire, "it is no member of its own team"};
  return {};
}

Mac make_node_mac(const Secret& secret, NodeRole role, const NodeHelloBytes& hello, const NodeNonce& nonce) {
  std::array<std::byte, 1 + kNodeHello + kNodeNonce> said;
  said[0] = static_cast<std::byte>(role);
  std::copy(hello.begin(), hello.end(), said.begin() + 1);
  std::copy(nonce.begin(), nonce.end(), said.begin() + 1 + kNodeHello);
  return hmac_sha256(secret, said);
}

Status send_node_message(const Fd& socket, std::span<const std::byte> message, int descriptor) {
  iovec data{const_cast<std::byte*>(message.data()), message.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &descriptor, sizeof(int));
  }
  if (sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(message.size())) return {};
  return {Code::io, std::string("cannot send: ") + std::strerror(errno)};
}

NodeReceived receive_node_message(const Fd& socket, std::span<std::byte> into, Fd* descriptor) {
  iovec data{into.data(), into.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? NodeReceived::nothing : NodeReceived::closed;
  take_descriptors(header, descriptor);
  if (got == 0) return NodeReceived::closed;
  const bool whole = static_cast<std::size_t>(got) == into.size() && (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  return whole ? NodeReceived::message : NodeReceived::bad;
}

bool is_own_user(const Fd& socket) {
  ucred other{};
  socklen_t size = sizeof(other);
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == geteuid();
}

}  // namespace nezha
