// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/admission.h"

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

MessageAdmission::MessageAdmission(bool connecting, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds due,
                                   ProcessId self, const Admission& admission, Host& host,
                                   std::unique_ptr<MessageChannel> channel)
    : deadline(due), connecting_(connecting), spec_(spec), rail_(rail), peer_(std::move(peer)), self_(self),
      admission_(admission), host_(host), channel_(std::move(channel)), step_(connecting ? Step::connection : Step::hello) {}

void MessageAdmission::opened() {
  host_.connected(*this);
  if (!connecting_) return;
  if (Status status = say_hello(); !status.ok()) channel_->fail(std::move(status));
}

Status MessageAdmission::message(MessageType type, std::span<const std::byte> body) {
  if (type == MessageType::credit) return {};
  if (type == MessageType::hello && step_ == Step::hello) return answer_hello(body);
  if (type == MessageType::challenge && step_ == Step::challenge) return answer_challenge(body);
  if (type == MessageType::proof && step_ == Step::proof) return check_proof(body);
  if (type != MessageType::welcome || step_ != Step::welcome) return {Code::bad_wire, "a message out of turn"};
  const auto welcome = welcome_message();
  if (!std::equal(welcome.begin(), welcome.end(), body.begin(), body.end())) return refused("the other side did not welcome");
  step_ = Step::none;
  host_.admitted(*this);
  return {};
}

Status MessageAdmission::say_hello() {
  Hello hello{self_, spec_.peer, spec_.local_rail, spec_.remote_rail, spec_.same_node, {}};
  if (Status status = random_bytes(hello.nonce); !status.ok()) return status;
  spec_.connection = connection_of(hello);
  hello_ = write_hello(hello);
  step_ = Step::challenge;
  return send(MessageType::hello, hello_);
}

Status MessageAdmission::answer_hello(std::span<const std::byte> body) {
  if (body.size() != kHelloSize) return refused("a greeting of another length");
  std::copy(body.begin(), body.end(), hello_.begin());
  Hello hello;
  if (Status status = read_hello(hello_, hello); !status.ok()) return status;
  if (hello.to != self_) return refused("it wants another process");
  if (hello.to_rail != spec_.local_rail) return refused("it wants another rail");
  const Secret* secret = admission_.secret(hello.from);
  if (secret == nullptr) return refused("no such process is known");
  spec_.peer = hello.from;
  spec_.remote_rail = hello.from_rail;
  spec_.same_node = hello.same_node;
  spec_.connection = connection_of(hello);
  if (!admission_.expects(spec_)) return refused("no such lane is expected");
  if (Status status = random_bytes(accepting_nonce_); !status.ok()) return status;
  Proof proof;
  if (Status status = make_proof(*secret, ProofRole::accepting, hello_, accepting_nonce_, proof); !status.ok()) return status;
  std::array<std::byte, kChallengeSize> challenge;
  std::copy(accepting_nonce_.begin(), accepting_nonce_.end(), challenge.begin());
  std::copy(proof.begin(), proof.end(), challenge.begin() + kNonceSize);
  step_ = Step::proof;
  return send(MessageType::challenge, challenge);
}

Status MessageAdmission::answer_challenge(std::span<const std::byte> body) {
  if (body.size() != kChallengeSize) return refused("a challenge of another length");
  const Secret* secret = admission_.secret(spec_.peer);
  if (secret == nullptr) return refused("the process is not known any more");
  if (!admission_.wants(spec_)) return refused("the lane that was silent answers again");
  std::copy_n(body.begin(), kNonceSize, accepting_nonce_.begin());
  Proof proof;
  if (Status status = make_proof(*secret, ProofRole::accepting, hello_, accepting_nonce_, proof); !status.ok()) return status;
  if (!same_proof(body.subspan<kNonceSize, kProofSize>(), proof)) return refused("the other side does not know the job's secret");
  if (Status status = make_proof(*secret, ProofRole::connecting, hello_, accepting_nonce_, proof); !status.ok()) return status;
  step_ = Step::welcome;
  return send(MessageType::proof, proof);
}

Status MessageAdmission::check_proof(std::span<const std::byte> body) {
  if (body.size() != kProofSize) return refused("a proof of another length");
  const Secret* secret = admission_.secret(spec_.peer);
  if (secret == nullptr) return refused("the process is not known any more");
  Proof proof;
  if (Status status = make_proof(*secret, ProofRole::connecting, hello_, accepting_nonce_, proof); !status.ok()) return status;
  if (!same_proof(body.first<kProofSize>(), proof)) return refused("it does not know the job's secret");
  if (!admission_.expects(spec_)) return refused("the lane is not expected any more");
  if (Status status = send(MessageType::welcome, welcome_message()); !status.ok()) return status;
  step_ = Step::none;
  host_.admitted(*this);
  return {};
}

Status MessageAdmission::send(MessageType type, std::span<const std::byte> body) {
  const std::span<std::byte> space = channel_->space();
  if (space.size() < body.size()) return {Code::internal, "a fresh connection has no room for a greeting"};
  std::copy(body.begin(), body.end(), space.begin());
  channel_->send(type, body.size());
  return {};
}

}  // namespace nezha
