// SPDX-License-Identifier: BSD-3-Clause
/// What a process tells its peers of a rail whose address is not the one that it published at the start. The address is written
/// down as rail_address.h says and cut into parts, one control record each: 16 bytes in `team` and `offset`; in `op` the rail
/// (u8), the part's number (u8), the bytes of all parts (u16) and the notice's number (u32), by which a later notice of a rail
/// replaces one of which parts are still on their way.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "rail/rail.h"
#include "trunk/piece.h"
#include "util/status.h"

namespace nezha {

struct RailNotice {
  std::uint8_t rail = 0;  ///< index into the process's list of rails
  RailAddress address;

  bool operator==(const RailNotice&) const = default;
};

constexpr std::size_t kNoticePart = 16;  ///< bytes
constexpr std::size_t kMaxNoticeParts = (kMaxRailAddress + kNoticePart - 1) / kNoticePart;

/// Fills what the record's kind leaves to it, for each part in turn. `number` grows with each notice of a trunk.
void encode_notice(const RailNotice& notice, std::uint32_t number, const std::function<PieceHeader&()>& next_record);

/// Puts the parts of the peer's notices together, which lanes may bring in any order, each part once. Keeps at most
/// kMaxRails addresses.
class NoticeReader {
 public:
  /// Reads a record of the wire. `notice` is set when this was its last part and no later notice of that rail has come.
  Status take(const PieceHeader& record, std::optional<RailNotice>& notice);

 private:
  struct Parts {
    std::uint8_t rail = 0;
    std::uint32_t number = 0;
    std::uint16_t size = 0;
    std::uint64_t got = 0;  ///< a bit for each part
    std::array<std::byte, kMaxNoticeParts * kNoticePart> bytes{};
  };
  static_assert(kMaxNoticeParts <= 64);

  Parts& parts_of(std::uint8_t rail);

  std::vector<Parts> known_;
};

}  // namespace nezha
