// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_acceptor.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "node/node_socket.h"
#include "util/random.h"

namespace nezha {

Status NodeAcceptor::open() {
  Status status = random_bytes(name_);
  if (!status.ok()) return status;
  Fd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const NodeSocketAddress address(name_);
  if (!listener || bind(listener.get(), address.get(), address.size()) != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    return {Code::io, std::string("no Unix socket for shared memory: ") + std::strerror(errno)};
  }
  listener_ = std::move(listener);
  return {};
}

void NodeAcceptor::offer(Offer offer) { teams_[offer.team].offer = std::move(offer); }

std::vector<NodeAcceptor::Admitted> NodeAcceptor::take(std::uint64_t team) {
  const auto found = teams_.find(team);
  return found == teams_.end() ? std::vector<Admitted>() : std::exchange(found->second.admitted, {});
}

void NodeAcceptor::progress(Nanoseconds now) {
  if (!listener_) return;
  accept_all(now);
  for (Pending& pending : pending_) {
    if (now >= pending.deadline) {
      pending.step = Step::done;
    } else {
      proceed(pending);
    }
  }
  std::erase_if(pending_, [](const Pending& pending) { return pending.step == Step::done; });
}

void NodeAcceptor::accept_all(Nanoseconds now) {
  for (std::size_t i = 0; i < kMostAtOnce && pending_.size() < kMostPending; ++i) {
    Fd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (!is_own_user(connection)) continue;
    Pending& pending = pending_.emplace_back();
    pending.connection = std::move(connection);
    pending.deadline = now + kHandshakeTime;
  }
}

void NodeAcceptor::proceed(Pending& pending) {
  if (pending.step == Step::hello && !read_hello(pending)) return;
  if (pending.step == Step::offer && !challenge(pending)) return;
  if (pending.step == Step::proof) check_proof(pending);
}

bool NodeAcceptor::read_hello(Pending& pending) {
  const NodeReceived received = receive_node_message(pending.connection, pending.hello_bytes);
  if (received == NodeReceived::nothing) return false;
  pending.step = Step::done;
  if (received != NodeReceived::message || !read_node_hello(pending.hello_bytes, pending.hello).ok()) return false;
  pending.step = Step::offer;
  return true;
}

/// Once there is an offer for the team.
bool NodeAcceptor::challenge(Pending& pending) {
  const auto found = teams_.find(pending.hello.team);
  if (found == teams_.end()) return false;
  pending.step = Step::done;
  if (pending.hello.member >= found->second.offer.members) return false;
  Secret secret{};
  if (!found->second.offer.secret_of(pending.hello.member, secret) || !random_bytes(pending.nonce).ok()) return false;
  const Mac mac = make_node_mac(secret, NodeRole::making, pending.hello_bytes, pending.nonce);
  std::array<std::byte, kNodeChallenge> message;
  std::copy(pending.nonce.begin(), pending.nonce.end(), message.begin());
  std::copy(mac.begin(), mac.end(), message.begin() + kNodeNonce);
  if (!send_node_message(pending.connection, message).ok()) return false;
  pending.step = Step::proof;
  return true;
}

bool NodeAcceptor::check_proof(Pending& pending) {
  Mac proof{};
  const NodeReceived received = receive_node_message(pending.connection, proof);
  if (received == NodeReceived::nothing) return false;
  pending.step = Step::done;
  const auto found = teams_.find(pending.hello.team);
  Secret secret{};
  if (received != NodeReceived::message || found == teams_.end() ||
      !found->second.offer.secret_of(pending.hello.member, secret) ||
      !same_mac(proof, make_node_mac(secret, NodeRole::joining, pending.hello_bytes, pending.nonce))) {
    return false;
  }
  const Offer& offer = found->second.offer;
  const bool fits = offer.members == pending.hello.members && offer.size == pending.hello.size;
  const std::byte answer{static_cast<std::uint8_t>(fits ? NodeAnswer::welcome : NodeAnswer::differs)};
  if (!send_node_message(pending.connection, std::span(&answer, 1), fits ? offer.descriptor : -1).ok() || !fits)
    return false;
  found->second.admitted.push_back({pending.hello.member, std::move(pending.connection)});
  return true;
}

}  // namespace nezha
