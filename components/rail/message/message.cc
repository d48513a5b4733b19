// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/message.h"

#include "util/bytes.h"

namespace nezha {
namespace {

constexpr std::uint8_t kAnswer = 1;

}  // namespace

void write_message_header(std::byte* to, const MessageHeader& header) {
  to[0] = static_cast<std::byte>(header.type);
  to[1] = static_cast<std::byte>(header.answer ? kAnswer : 0);
  store_le<std::uint16_t>(to + 2, header.receives);
  store_le<std::uint32_t>(to + 4, header.received);
  store_le<std::uint32_t>(to + 8, header.number);
}

Status read_message_header(std::span<const std::byte> message, MessageHeader& header) {
  if (message.size() < kMessageHeader) return {Code::bad_wire, "a message without its header"};
  const auto type = std::to_integer<std::uint8_t>(message[0]), flags = std::to_integer<std::uint8_t>(message[1]);
  if (type > static_cast<std::uint8_t>(MessageType::credit)) return {Code::bad_wire, "a message of an unknown type"};
  if ((flags & ~kAnswer) != 0) return {Code::bad_wire, "a message with unknown flags"};
  header.type = static_cast<MessageType>(type);
  header.answer = flags == kAnswer;
  header.receives = load_le<std::uint16_t>(&message[2]);
  header.received = load_le<std::uint32_t>(&message[4]);
  header.number = load_le<std::uint32_t>(&message[8]);
  return {};
}

}  // namespace nezha
