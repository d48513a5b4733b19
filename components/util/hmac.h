// SPDX-License-Identifier: BSD-3-Clause
/// HMAC-SHA256, by which two processes show that they know a secret. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace nezha {

constexpr std::size_t kMacSize = 32;

using Secret = std::array<std::uint8_t, 32>;
using Mac = std::array<std::byte, kMacSize>;

Mac hmac_sha256(const Secret& secret, std::span<const std::byte> text);

/// A secret that is derived from another one.
Secret secret_from(const Mac& mac);

/// In constant time.
bool same_mac(std::span<const std::byte, kMacSize> one, std::span<const std::byte, kMacSize> other);

}  // namespace nezha
