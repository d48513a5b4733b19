// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_connector.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "node/node_socket.h"
#include "util/random.h"

namespace nezha {

NodeConnector::NodeConnector(const NodeName& maker, const NodeHello& hello, const Secret& secret, Nanoseconds deadline)
    : maker_(maker), hello_(hello), secret_(secret), deadline_(deadline) {}

NodeConnector::Outcome NodeConnector::proceed(Nanoseconds now) {
  bool goes_on = true;
  while (goes_on) {
    switch (step_) {
      case Step::connect:
        goes_on = connect_to_maker();
        break;
      case Step::challenge:
        goes_on = answer_challenge();
        break;
      case Step::answer:
        goes_on = read_answer();
        break;
      case Step::joined:
        return Outcome::joined;
      case Step::failed:
        return Outcome::failed;
    }
  }
  if (step_ != Step::failed && now >= deadline_) fail(Code::timed_out, "the process that makes it does not answer");
  return step_ == Step::failed ? Outcome::failed : Outcome::pending;
}

bool NodeConnector::fail(Code code, std::string text) {
  why_ = {code, std::move(text)};
  step_ = Step::failed;
  connection_.reset();
  return false;
}

bool NodeConnector::connect_to_maker() {
  Fd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!connection) return fail(Code::io, std::string("no Unix socket: ") + std::strerror(errno));
  const NodeSocketAddress address(maker_);
  if (connect(connection.get(), address.get(), address.size()) != 0) {
    if (errno == EAGAIN || errno == EINTR) return false;  // others wait there; once more at the next call
    if (errno == ECONNREFUSED) {
      return fail(Code::absent, "the process that makes it has no socket in this network namespace, or has ended");
    }
    return fail(Code::io, std::string("cannot connect to the process that makes it: ") + std::strerror(errno));
  }
  connection_ = std::move(connection);
  if (!is_own_user(connection_)) return fail(Code::refused, "the process at its socket is another user's");
  Status status = random_bytes(hello_.nonce);
  hello_bytes_ = write_node_hello(hello_);
  if (status.ok()) status = send_node_message(connection_, hello_bytes_);
  if (!status.ok()) return fail(status.code(), status.text());
  step_ = Step::challenge;
  return true;
}

bool NodeConnector::received(NodeReceived what) {
  if (what == NodeReceived::closed) return fail(Code::refused, "the process that makes it has refused, or has ended");
  if (what == NodeReceived::bad) return fail(Code::bad_wire, "the process that makes it does not speak this protocol");
  return what == NodeReceived::message;
}

bool NodeConnector::answer_challenge() {
  std::array<std::byte, kNodeChallenge> challenge;
  if (!received(receive_node_message(connection_, challenge))) return false;
  NodeNonce nonce{};
  std::copy_n(challenge.begin(), kNodeNonce, nonce.begin());
  const Mac expected = make_node_mac(secret_, NodeRole::making, hello_bytes_, nonce);
  if (!same_mac(std::span(challenge).subspan<kNodeNonce>(), expected)) {
    return fail(Code::refused, "the process at its socket does not know the secret of this pair");
  }
  const Status status = send_node_message(connection_, make_node_mac(secret_, NodeRole::joining, hello_bytes_, nonce));
  if (!status.ok()) return fail(status.code(), status.text());
  step_ = Step::answer;
  return true;
}

bool NodeConnector::read_answer() {
  std::byte answer{};
  if (!received(receive_node_message(connection_, std::span(&answer, 1), &memory_))) return false;
  if (static_cast<NodeAnswer>(answer) == NodeAnswer::differs) {
    return fail(Code::bad_peer, "the process that makes it has one for other members or of another size");
  }
  if (static_cast<NodeAnswer>(answer) != NodeAnswer::welcome || !memory_) {
    return fail(Code::bad_wire, "the process that makes it sent no memory");
  }
  step_ = Step::joined;
  return true;
}

}  // namespace nezha
