// SPDX-License-Identifier: BSD-3-Clause
#include "rail/handshake.h"

#include <algorithm>
#include <utility>

#include "util/bytes.h"
#include "util/random.h"

namespace nezha {
namespace {

Status refused(const char* why) { return {Code::refused, why}; }

/// Any part of a nonce does: it is as good as unique.
std::uint64_t connection_of(const Hello& hello) { return load_le<std::uint64_t>(hello.nonce.data()); }

}  // namespace

Handshake::Handshake(const LaneSpec& spec, ProcessId self, std::size_t word_bytes, Words words)
    : connecting_side_(true), step_(Step::begin), spec_(spec), self_(self), word_bytes_(std::min(word_bytes, kMaxWords)),
      words_(std::move(words)) {}

Handshake::Handshake(std::uint8_t rail, ProcessId self, std::size_t word_bytes, Words words)
    : connecting_side_(false), step_(Step::hello), self_(self), word_bytes_(std::min(word_bytes, kMaxWords)),
      words_(std::move(words)), wanted_(kHelloSize + word_bytes_) {
  spec_.local_rail = rail;
}

Status Handshake::begin() {
  Hello hello{self_, spec_.peer, spec_.local_rail, spec_.remote_rail, spec_.same_node, {}};
  if (Status status = random_bytes(hello.nonce); !status.ok()) return status;
  spec_.connection = connection_of(hello);
  hello_ = write_hello(hello);
  if (Status status = my_words(); !status.ok()) return status;
  say(hello_);
  say(words_of(ProofRole::connecting));
  await(Step::challenge, kChallengeSize + word_bytes_);
  return {};
}

Handshake::Outcome Handshake::take(std::span<const std::byte> message, const Admission& admission) {
  const Step step = step_;
  answer_size_ = 0;
  if (message.size() != wanted_) {
    why_ = {Code::bad_wire, "a message of another length than the handshake has"};
  } else if (step == Step::hello) {
    why_ = take_hello(message, admission);
  } else if (step == Step::challenge) {
    why_ = take_challenge(message, admission);
  } else if (step == Step::proof) {
    why_ = take_proof(message, admission);
  } else if (step == Step::welcome) {
    why_ = take_welcome(message, admission);
  } else {
    why_ = {Code::internal, "a handshake out of step"};
  }
  if (!why_.ok()) return Outcome::failed;
  return step == Step::proof || step == Step::welcome ? Outcome::admitted : Outcome::pending;
}

Status Handshake::take_hello(std::span<const std::byte> message, const Admission& admission) {
  std::copy_n(message.begin(), kHelloSize, hello_.begin());
  std::copy_n(message.begin() + kHelloSize, word_bytes_, said_[0].begin());
  Hello hello;
  if (Status status = read_hello(hello_, hello); !status.ok()) return status;
  if (hello.to != self_) return refused("it wants another process");
  if (hello.to_rail != spec_.local_rail) return refused("it wants another rail");
  if (admission.secret(hello.from) == nullptr) return refused("no such process is known");
  spec_.peer = hello.from;
  spec_.remote_rail = hello.from_rail;
  spec_.same_node = hello.same_node;
  spec_.connection = connection_of(hello);
  if (!admission.expects(spec_)) return refused("no such lane is expected");
  if (Status status = random_bytes(accepting_nonce_); !status.ok()) return status;
  if (Status status = my_words(); !status.ok()) return status;
  Proof proof;
  if (Status status = prove(admission, ProofRole::accepting, proof); !status.ok()) return status;
  say(accepting_nonce_);
  say(proof);
  say(words_of(ProofRole::accepting));
  await(Step::proof, kProofSize);
  return {};
}

Status Handshake::take_challenge(std::span<const std::byte> message, const Admission& admission) {
  if (admission.secret(spec_.peer) != nullptr && !admission.wants(spec_))
    return refused("the lane that was silent answers again");
  std::copy_n(message.begin(), kNonceSize, accepting_nonce_.begin());
  std::copy_n(message.begin() + kChallengeSize, word_bytes_, said_[1].begin());
  Proof proof;
  if (Status status = prove(admission, ProofRole::accepting, proof); !status.ok()) return status;
  if (!same_proof(message.subspan<kNonceSize, kProofSize>(), proof))
    return refused("the other side does not know the job's secret");
  if (Status status = prove(admission, ProofRole::connecting, proof); !status.ok()) return status;
  say(proof);
  secret_ = *admission.secret(spec_.peer);
  await(Step::welcome, kWelcomeSize);
  return {};
}

Status Handshake::take_proof(std::span<const std::byte> message, const Admission& admission) {
  Proof proof;
  if (Status status = prove(admission, ProofRole::connecting, proof); !status.ok()) return status;
  if (!same_proof(message.first<kProofSize>(), proof)) return refused("it does not know the job's secret");
  if (!admission.expects(spec_)) return refused("the lane is not expected any more");
  say(welcome_message());
  return {};
}

/// The process may be unknown by now, or known anew: the lane would be that of the one before.
Status Handshake::take_welcome(std::span<const std::byte> message, const Admission& admission) const {
  const Secret* secret = admission.secret(spec_.peer);
  if (secret == nullptr || *secret != secret_) return refused("the process is not known any more");
  const auto welcome = welcome_message();
  if (!std::equal(welcome.begin(), welcome.end(), message.begin())) return refused("the other side did not welcome");
  return {};
}

Status Handshake::my_words() {
  if (!words_) return {};
  return words_(spec_, std::span(said_[connecting_side_ ? 0 : 1]).first(word_bytes_));
}

std::span<const std::byte> Handshake::words_of(ProofRole role) const {
  return {said_[role == ProofRole::connecting ? 0 : 1].data(), word_bytes_};
}

Status Handshake::prove(const Admission& admission, ProofRole role, Proof& proof) const {
  const Secret* secret = admission.secret(spec_.peer);
  if (secret == nullptr) return refused("the process is not known any more");
  proof = make_proof(*secret, role, {hello_, words_of(ProofRole::connecting), accepting_nonce_, words_of(ProofRole::accepting)});
  return {};
}

void Handshake::say(std::span<const std::byte> bytes) {
  std::copy(bytes.begin(), bytes.end(), answer_.begin() + static_cast<std::ptrdiff_t>(answer_size_));
  answer_size_ += bytes.size();
}

void Handshake::await(Step step, std::size_t size) {
  step_ = step;
  wanted_ = size;
}

}  // namespace nezha
