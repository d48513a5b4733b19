// SPDX-License-Identifier: BSD-3-Clause
/// Bytes that look like anybody's data, the same for the same seed.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace nezha::test {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

inline Bytes random_contents(Random& random, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace nezha::test
