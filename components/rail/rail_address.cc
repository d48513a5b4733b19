// SPDX-License-Identifier: BSD-3-Clause
#include "rail/rail_address.h"

namespace nezha {

void write_rail(ByteWriter& out, const RailAddress& rail) {
  out.text(rail.transport, kMaxRailWord);
  out.text(rail.name, kMaxRailWord);
  out.text(rail.device, kMaxRailWord);
  out.number(rail.family);
  out.number(rail.precedence);
  out.number(rail.speed_mbps);
  out.short_bytes(rail.network);
  out.short_bytes(rail.place);
}

RailAddress read_rail(ByteReader& in) {
  RailAddress rail;
  rail.transport = in.text(kMaxRailWord);
  rail.name = in.text(kMaxRailWord);
  rail.device = in.text(kMaxRailWord);
  rail.family = in.number<std::uint8_t>();
  rail.precedence = in.number<std::uint8_t>();
  rail.speed_mbps = in.number<std::uint32_t>();
  rail.network = in.short_bytes(kMaxRailNetwork);
  rail.place = in.short_bytes(kMaxRailPlace);
  return rail;
}

}  // namespace nezha
