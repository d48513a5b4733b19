// SPDX-License-Identifier: BSD-3-Clause
/// Integers in memory of any alignment, in the byte order of the wire (little endian).
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace nezha {

namespace detail {

template <std::unsigned_integral T>
constexpr T little_endian(T value) {
  if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
    return value;
  } else {
    T swapped = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      swapped = static_cast<T>(swapped << 8 | (value & 0xff));
      value = static_cast<T>(value >> 8);
    }
    return swapped;
  }
}

}  // namespace detail

/// Reads sizeof(T) bytes at `from`.
template <std::unsigned_integral T>
T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return detail::little_endian(value);
}

/// Writes sizeof(T) bytes at `to`.
template <std::unsigned_integral T>
void store_le(std::byte* to, T value) {
  value = detail::little_endian(value);
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace nezha
