// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/admission.h"

#include <algorithm>
#include <utility>

namespace nezha {
namespace {

MessageType next(MessageType type) { return static_cast<MessageType>(static_cast<std::uint8_t>(type) + 1); }

}  // namespace

MessageAdmission::MessageAdmission(bool connecting, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds due,
                                   ProcessId self, const Admission& admission, Host& host,
                                   std::unique_ptr<MessageChannel> channel)
    : deadline(due), talk_(connecting ? Handshake(spec, self) : Handshake(spec.local_rail, self)), rail_(rail),
      peer_(std::move(peer)), admission_(admission), host_(host), channel_(std::move(channel)) {}

void MessageAdmission::opened() {
  host_.reached(*this);
  if (!connecting()) return;
  Status status = talk_.begin();
  awaited_ = MessageType::challenge;
  if (status.ok()) status = answer(MessageType::hello);
  if (!status.ok()) channel_->fail(std::move(status));
}

Status MessageAdmission::message(MessageType type, std::span<const std::byte> body) {
  if (type == MessageType::credit) return {};
  if (over || type != awaited_) return {Code::bad_wire, "a message out of turn"};
  const Handshake::Outcome outcome = talk_.take(body, admission_);
  if (outcome == Handshake::Outcome::failed) return talk_.why();
  if (!talk_.answer().empty()) {
    awaited_ = next(next(type));
    if (Status status = answer(next(type)); !status.ok()) return status;
  }
  if (outcome == Handshake::Outcome::admitted) host_.admitted(*this);
  return {};
}

Status MessageAdmission::answer(MessageType type) {
  const std::span<const std::byte> body = talk_.answer();
  const std::span<std::byte> space = channel_->space();
  if (space.size() < body.size()) return {Code::internal, "a fresh connection has no room for a greeting"};
  std::copy(body.begin(), body.end(), space.begin());
  channel_->send(type, body.size());
  return {};
}

}  // namespace nezha
