// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/admission.h"

#include <algorithm>
#include <utility>

namespace nezha {

MessageAdmission::MessageAdmission(Handshake handshake, std::size_t rail, std::string peer, Nanoseconds due,
                                   const Admission& admission, Host& host, std::unique_ptr<MessageChannel> channel)
    : deadline(due), handshake_(std::move(handshake)), rail_(rail), peer_(std::move(peer)), admission_(admission), host_(host),
      channel_(std::move(channel)) {}

void MessageAdmission::opened() {
  host_.connected(*this);
  if (!connecting()) return;
  Status status = handshake_.begin();
  if (status.ok()) status = send_answer();
  if (!status.ok()) channel_->fail(std::move(status));
}

Status MessageAdmission::message(MessageType type, std::span<const std::byte> body) {
  if (type == MessageType::credit) return {};
  if (type != MessageType::handshake) return {Code::bad_wire, "a message out of turn"};
  if (body.size() != handshake_.wanted()) return {Code::refused, "a handshake of another length"};
  const Handshake::Outcome outcome = handshake_.take(body, admission_);
  if (outcome == Handshake::Outcome::failed) return handshake_.why();
  if (Status status = send_answer(); !status.ok()) return status;
  if (outcome == Handshake::Outcome::admitted) host_.admitted(*this);
  return {};
}

Status MessageAdmission::send_answer() {
  const std::span<const std::byte> answer = handshake_.answer();
  if (answer.empty()) return {};
  const std::span<std::byte> space = channel_->space();
  if (space.size() < answer.size()) return {Code::internal, "a fresh connection has no room for a greeting"};
  std::copy(answer.begin(), answer.end(), space.begin());
  channel_->send(MessageType::handshake, answer.size());
  return {};
}

}  // namespace nezha
