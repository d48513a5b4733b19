// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_words.h"

#include <algorithm>
#include <cstring>

#include "util/bytes.h"

namespace nezha {
namespace {

constexpr char kMagic[] = {'N', 'Z', 'V', 'B'};
constexpr std::uint16_t kVersion = 1;
constexpr std::uint8_t kLeastMtu = 1, kMostMtu = 5;  // 256 and 4096 bytes
constexpr std::uint16_t kNeedsGid = 1;
constexpr std::uint32_t kMost24 = (1U << 24) - 1;

Status bad(const char* what) { return {Code::bad_wire, what}; }

}  // namespace

PairWordsBytes write_pair_words(const PairWords& words) {
  PairWordsBytes bytes{};
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  store_le(bytes.data() + 4, kVersion);
  store_le(bytes.data() + 6, words.mtu);
  store_le(bytes.data() + 7, static_cast<std::uint8_t>(words.infiniband));
  store_le(bytes.data() + 8, words.number);
  store_le(bytes.data() + 12, words.first_packet);
  store_le(bytes.data() + 16, words.lid);
  store_le(bytes.data() + 18, words.needs_gid ? kNeedsGid : std::uint16_t{0});
  std::copy(words.gid.begin(), words.gid.end(), bytes.begin() + 20);
  return bytes;
}

Status read_pair_words(const PairWordsBytes& from, PairWords& words) {
  if (std::memcmp(from.data(), kMagic, sizeof kMagic) != 0) return bad("it is no verbs rail of Nezha's");
  if (load_le<std::uint16_t>(from.data() + 4) != kVersion) return bad("a verbs rail of another version");
  words.mtu = load_le<std::uint8_t>(from.data() + 6);
  if (words.mtu < kLeastMtu || words.mtu > kMostMtu) return bad("an impossible size of packets");
  const auto link = load_le<std::uint8_t>(from.data() + 7);
  if (link > 1) return bad("an unknown kind of link");
  words.infiniband = link == 1;
  words.number = load_le<std::uint32_t>(from.data() + 8);
  words.first_packet = load_le<std::uint32_t>(from.data() + 12);
  if (words.number > kMost24 || words.first_packet > kMost24) return bad("a number of more than 24 bits");
  words.lid = load_le<std::uint16_t>(from.data() + 16);
  words.needs_gid = (load_le<std::uint16_t>(from.data() + 18) & kNeedsGid) != 0;
  std::copy_n(from.begin() + 20, words.gid.size(), words.gid.begin());
  return {};
}

}  // namespace nezha
