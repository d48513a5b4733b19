// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/handshake.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "rail/tcp/socket.h"
#include "util/bytes.h"
#include "util/random.h"

namespace nezha {
namespace {

Status refused(const char* why) { return {Code::refused, why}; }

/// Any part of a nonce does: it is as good as unique.
std::uint64_t connection_of(const Hello& hello) {
  return load_le<std::uint64_t>(hello.nonce.data());
}

}  // namespace

Handshake::Handshake(Fd fd, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds deadline,
                     ProcessId self)
    : fd_(std::move(fd)), connecting_side_(true), step_(Step::connect), spec_(spec), rail_(rail),
      peer_(std::move(peer)), deadline_(deadline), self_(self) {}

Handshake::Handshake(Fd fd, std::size_t rail, std::uint8_t rail_index, std::string peer, Nanoseconds deadline,
                     ProcessId self)
    : fd_(std::move(fd)), connecting_side_(false), step_(Step::hello), rail_(rail), peer_(std::move(peer)),
      deadline_(deadline), self_(self), wanted_(kHelloSize) {
  spec_.local_rail = rail_index;
}

Handshake::Outcome Handshake::proceed(const Admission& admission) {
  if (step_ == Step::connect) {
    why_ = connected();
    return why_.ok() ? Outcome::pending : Outcome::failed;
  }
  for (;;) {
    const ssize_t got = recv(fd_.get(), message_.data() + got_, wanted_ - got_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Outcome::pending;
    if (got < 0) why_ = io_error("receiving", errno);
    if (got == 0) why_ = refused("the other side closed the connection before admission");
    if (got <= 0) return Outcome::failed;
    got_ += static_cast<std::size_t>(got);
    if (got_ < wanted_) continue;
    bool admitted = false;
    why_ = handle_message(admission, admitted);
    if (!why_.ok()) return Outcome::failed;
    if (admitted) return Outcome::admitted;
  }
}

Status Handshake::handle_message(const Admission& admission, bool& admitted) {
  switch (step_) {
    case Step::hello:
      return answer_hello(admission);
    case Step::challenge:
      return answer_challenge(admission);
    case Step::proof: {
      admitted = true;
      return check_proof(admission);
    }
    case Step::welcome: {
      admitted = true;
      return check_welcome();
    }
    case Step::connect:
      break;
  }
  return {Code::internal, "a handshake out of step"};
}

Status Handshake::connected() {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return io_error("connecting", error);
  Hello hello{self_, spec_.peer, spec_.local_rail, spec_.remote_rail, spec_.same_node, {}};
  Status status = random_bytes(hello.nonce);
  if (!status.ok()) return status;
  spec_.connection = connection_of(hello);
  hello_ = write_hello(hello);
  await(Step::challenge, kChallengeSize);
  return send_message(hello_);
}

Status Handshake::answer_hello(const Admission& admission) {
  hello_ = message_;
  Hello hello;
  Status status = read_hello(hello_, hello);
  if (!status.ok()) return status;
  if (hello.to != self_) return refused("it wants another process");
  if (hello.to_rail != spec_.local_rail) return refused("it wants another rail");
  const Secret* secret = admission.secret(hello.from);
  if (secret == nullptr) return refused("no such process is known");
  spec_.peer = hello.from;
  spec_.remote_rail = hello.from_rail;
  spec_.same_node = hello.same_node;
  spec_.connection = connection_of(hello);
  if (!admission.expects(spec_)) return refused("no such lane is expected");
  status = random_bytes(accepting_nonce_);
  if (!status.ok()) return status;
  Proof proof;
  status = make_proof(*secret, ProofRole::accepting, hello_, accepting_nonce_, proof);
  if (!status.ok()) return status;
  std::array<std::byte, kChallengeSize> challenge;
  std::copy(accepting_nonce_.begin(), accepting_nonce_.end(), challenge.begin());
  std::copy(proof.begin(), proof.end(), challenge.begin() + kNonceSize);
  await(Step::proof, kProofSize);
  return send_message(challenge);
}

Status Handshake::answer_challenge(const Admission& admission) {
  const Secret* secret = admission.secret(spec_.peer);
  if (secret == nullptr) return refused("the process is not known any more");
  if (!admission.wants(spec_)) return refused("the lane that was silent answers again");
  std::copy_n(message_.begin(), kNonceSize, accepting_nonce_.begin());
  Proof proof;
  Status status = make_proof(*secret, ProofRole::accepting, hello_, accepting_nonce_, proof);
  if (!status.ok()) return status;
  if (!same_proof(std::span(message_).subspan<kNonceSize, kProofSize>(), proof)) {
    return refused("the other side does not know the job's secret");
  }
  status = make_proof(*secret, ProofRole::connecting, hello_, accepting_nonce_, proof);
  if (!status.ok()) return status;
  await(Step::welcome, kWelcomeSize);
  return send_message(proof);
}

Status Handshake::check_proof(const Admission& admission) {
  const Secret* secret = admission.secret(spec_.peer);
  if (secret == nullptr) return refused("the process is not known any more");
  Proof proof;
  const Status status = make_proof(*secret, ProofRole::connecting, hello_, accepting_nonce_, proof);
  if (!status.ok()) return status;
  if (!same_proof(std::span(message_).first<kProofSize>(), proof)) return refused("it does not know the job's secret");
  if (!admission.expects(spec_)) return refused("the lane is not expected any more");
  return send_message(welcome_message());
}

Status Handshake::check_welcome() const {
  const auto welcome = welcome_message();
  if (!std::equal(welcome.begin(), welcome.end(), message_.begin())) return refused("the other side did not welcome");
  return {};
}

void Handshake::await(Step step, std::size_t size) {
  step_ = step;
  got_ = 0;
  wanted_ = size;
}

Status Handshake::send_message(std::span<const std::byte> message) const {
  for (;;) {
    const ssize_t sent = send(fd_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(message.size())) return {};
    if (sent >= 0) return {Code::io, "a fresh connection took only part of a handshake"};
    if (errno != EINTR) return io_error("sending", errno);
  }
}

}  // namespace nezha
