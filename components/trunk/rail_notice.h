// SPDX-License-Identifier: BSD-3-Clause
/// What a process tells its peers of a rail whose address is not the one that it published at the start, and how a control
/// record carries it: the address in `team` and `offset`, the rest in `op`.
#pragma once

#include <cstdint>

#include "rail/rail.h"
#include "trunk/piece.h"
#include "util/status.h"

namespace nezha {

struct RailNotice {
  std::uint8_t rail = 0;  ///< index into the process's list of rails
  std::uint8_t family = 0;
  std::array<std::uint8_t, 16> address{};
  std::uint8_t prefix = 0;
  std::uint16_t port = 0;

  bool operator==(const RailNotice&) const = default;
};

/// Of a rail whose family is 4 or 6.
RailNotice notice_of(std::uint8_t rail, const RailAddress& address);
/// Fills what the record's kind leaves to it.
void encode_notice(const RailNotice& notice, PieceHeader& record);
/// From a record of the wire: not ok when no rail can have that address.
Status decode_notice(const PieceHeader& record, RailNotice& notice);

}  // namespace nezha
