// SPDX-License-Identifier: BSD-3-Clause
/// What stands before each message of a btl rail: which connection of which process it is for. 24 bytes, little endian: type u8,
/// rail u8, zero u16, rank u32, to u64, from u64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "util/status.h"

namespace nezha {

enum class BtlType : std::uint8_t { call = 1, answer, data, close };

constexpr std::size_t kBtlHead = 24;

struct BtlHead {
  BtlType type = BtlType::data;
  std::uint8_t rail = 0;
  std::uint32_t rank = 0;  ///< of the sender, in the job
  std::uint64_t to = 0;    ///< the receiver's number of the connection; 0: a call, which has none yet, or the close of one that
                           ///< was not answered
  std::uint64_t from = 0;  ///< the sender's
};

std::array<std::byte, kBtlHead> write_btl_head(const BtlHead& head);
/// From untrusted bytes.
Status read_btl_head(std::span<const std::byte> message, BtlHead& head);

}  // namespace nezha
