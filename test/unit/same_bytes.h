// SPDX-License-Identifier: BSD-3-Clause
/// For tests of all layers.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace nezha::test {

/// Whether both hold the same. Tests are not optimised, and there the operator of vectors looks at a byte at a time.
inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace nezha::test
