// SPDX-License-Identifier: BSD-3-Clause
#include "util/crc32c.h"

#include <array>

#include "util/bytes.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace nezha {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr std::size_t kWord = 8;                   // bytes taken at once

using Table = std::array<std::uint32_t, 256>;

/// Table k advances a byte over itself and k bytes of zeros behind it.
constexpr std::array<Table, kWord> make_tables() {
  std::array<Table, kWord> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kWord; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xff];
    }
  }
  return tables;
}

constexpr std::array<Table, kWord> kTables = make_tables();

#if defined(__x86_64__)

[[gnu::target("sse4.2")]] std::uint32_t crc32c_sse42(std::uint32_t before, const std::byte* data, std::size_t size) {
  std::uint64_t crc = ~before;
  for (; size >= kWord; data += kWord, size -= kWord) crc = _mm_crc32_u64(crc, load_le<std::uint64_t>(data));
  auto tail = static_cast<std::uint32_t>(crc);
  if (constexpr std::size_t half = kWord / 2; size >= half) {  // headers and small elements are a few bytes long
    tail = _mm_crc32_u32(tail, load_le<std::uint32_t>(data));
    data += half, size -= half;
  }
  for (; size > 0; ++data, --size) tail = _mm_crc32_u8(tail, std::to_integer<std::uint8_t>(*data));
  return ~tail;
}

bool has_sse42() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
}

const auto kBest = has_sse42() ? crc32c_sse42 : crc32c_portable;

#else

constexpr auto kBest = crc32c_portable;

#endif

}  // namespace

std::uint32_t crc32c(std::uint32_t before, const std::byte* data, std::size_t size) {
  return kBest(before, data, size);
}

std::uint32_t crc32c_portable(std::uint32_t before, const std::byte* data, std::size_t size) {
  std::uint32_t crc = ~before;
  for (; size >= kWord; data += kWord, size -= kWord) {
    const std::uint64_t word = load_le<std::uint64_t>(data) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < kWord; ++i) crc ^= kTables[kWord - 1 - i][(word >> (8 * i)) & 0xff];
  }
  for (; size > 0; ++data, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(*data)) & 0xff];
  return ~crc;
}

}  // namespace nezha
