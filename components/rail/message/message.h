// SPDX-License-Identifier: BSD-3-Clause
/// The header of each message. 8 bytes, little endian:
///   0  type (u8)
///   1  flags (u8): 1 = an answer is wanted at once
///   2  how many receives its sender keeps posted (u16)
///   4  how many messages its sender has received and posted the memory of again (u32, wraps)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "util/status.h"

namespace nezha {

enum class MessageType : std::uint8_t {
  handshake,  ///< one of those of rail/handshake.h, before there is a lane
  frames,     ///< the next bytes of the lane's frames
  credit,     ///< nothing but the header
};

struct MessageHeader {
  MessageType type = MessageType::credit;
  bool answer = false;
  std::uint16_t receives = 0;
  std::uint32_t received = 0;
};

constexpr std::size_t kMessageHeader = 8;

void write_message_header(std::byte* to, const MessageHeader& header);
/// From untrusted bytes.
Status read_message_header(std::span<const std::byte> message, MessageHeader& header);

}  // namespace nezha
