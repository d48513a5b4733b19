// SPDX-License-Identifier: BSD-3-Clause
/// What two verbs rails tell each other before their queue pairs know each other, over a TCP connection between the addresses of
/// their interfaces. Either side sends it once, the connecting side first; the accepting side's says that it is ready to receive.
/// 36 bytes, little endian:
///   0  magic "NZVB"             12  number of the first packet (u32, 24 bits)
///   4  version (u16)            16  LID (u16; InfiniBand)
///   6  largest packet (u8, as ibv_mtu)      18  flags (u16): 1 = its port is reached by GID alone (GRH)
///   7  link (u8): 0 Ethernet, 1 InfiniBand  20  GID (16 bytes)
///   8  number of the pair (u32)
/// Nothing here is proven; the processes prove who they are over the pair itself (rail/proof.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "util/status.h"

namespace nezha {

constexpr std::size_t kPairWordsSize = 36;
using PairWordsBytes = std::array<std::byte, kPairWordsSize>;

struct PairWords {
  std::uint8_t mtu = 0;
  bool infiniband = false;
  std::uint32_t number = 0;
  std::uint32_t first_packet = 0;
  std::uint16_t lid = 0;
  std::array<std::byte, 16> gid{};
  bool needs_gid = false;  ///< its port is reached by that alone

  bool operator==(const PairWords&) const = default;
};

PairWordsBytes write_pair_words(const PairWords& words);
/// From untrusted bytes.
Status read_pair_words(const PairWordsBytes& from, PairWords& words);

}  // namespace nezha
