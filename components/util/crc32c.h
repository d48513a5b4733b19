// SPDX-License-Identifier: BSD-3-Clause
/// CRC32C (Castagnoli polynomial, as in iSCSI and RFC 3720). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nezha {

/// The checksum of `size` bytes that follow bytes whose checksum is `before` (0 at the start), so that
/// crc32c(crc32c(0, a), b) is the checksum of a and b in a row.
std::uint32_t crc32c(std::uint32_t before, const std::byte* data, std::size_t size);

/// The same without instructions that only some processors have; equal for every input.
std::uint32_t crc32c_portable(std::uint32_t before, const std::byte* data, std::size_t size);

}  // namespace nezha
