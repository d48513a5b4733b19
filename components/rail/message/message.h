// SPDX-License-Identifier: BSD-3-Clause
/// The header of each message. 12 bytes, little endian:
///   0  type (u8)
///   1  flags (u8): 1 = an answer is wanted at once
///   2  how many receives its sender keeps posted (u16)
///   4  how many messages its sender has received and posted the memory of again (u32, wraps)
///   8  how many it has sent before this one (u32, wraps): what a transport lost, turned round or made up must not be taken for
///      the next bytes of a frame
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "util/status.h"

namespace nezha {

enum class MessageType : std::uint8_t {
  hello,      ///< the four of proof.h
  challenge,
  proof,
  welcome,
  frames,     ///< the next bytes of the lane's frames
  credit,     ///< nothing but the header
};

struct MessageHeader {
  MessageType type = MessageType::credit;
  bool answer = false;
  std::uint16_t receives = 0;
  std::uint32_t received = 0;
  std::uint32_t number = 0;
};

constexpr std::size_t kMessageHeader = 12;

void write_message_header(std::byte* to, const MessageHeader& header);
/// From untrusted bytes.
Status read_message_header(std::span<const std::byte> message, MessageHeader& header);

}  // namespace nezha
