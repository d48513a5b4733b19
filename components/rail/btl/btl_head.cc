// SPDX-License-Identifier: BSD-3-Clause
#include "rail/btl/btl_head.h"

#include "util/bytes.h"

namespace nezha {

std::array<std::byte, kBtlHead> write_btl_head(const BtlHead& head) {
  std::array<std::byte, kBtlHead> to{};
  to[0] = static_cast<std::byte>(head.type);
  to[1] = static_cast<std::byte>(head.rail);
  store_le<std::uint32_t>(&to[4], head.rank);
  store_le<std::uint64_t>(&to[8], head.to);
  store_le<std::uint64_t>(&to[16], head.from);
  return to;
}

Status read_btl_head(std::span<const std::byte> message, BtlHead& head) {
  if (message.size() < kBtlHead) return {Code::bad_wire, "a message of a btl rail without its head"};
  const auto type = std::to_integer<std::uint8_t>(message[0]);
  if (type < static_cast<std::uint8_t>(BtlType::call) || type > static_cast<std::uint8_t>(BtlType::close) ||
      message[2] != std::byte{0} || message[3] != std::byte{0})
    return {Code::bad_wire, "a message of a btl rail that this version does not know"};
  head.type = static_cast<BtlType>(type);
  head.rail = std::to_integer<std::uint8_t>(message[1]);
  head.rank = load_le<std::uint32_t>(&message[4]);
  head.to = load_le<std::uint64_t>(&message[8]);
  head.from = load_le<std::uint64_t>(&message[16]);
  const bool may_be_unanswered = head.type == BtlType::call || head.type == BtlType::close;
  if (head.from == 0 || (head.to == 0 ? !may_be_unanswered : head.type == BtlType::call))
    return {Code::bad_wire, "a message of a btl rail for no connection"};
  return {};
}

}  // namespace nezha
