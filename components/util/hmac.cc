// SPDX-License-Identifier: BSD-3-Clause
/// By nettle, which has nothing to set up: libcrypto needs 2 ms of a process's start to be loaded and to find its HMAC.
#include "util/hmac.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/version.h>

#include <bit>

namespace nezha {

Mac hmac_sha256(const Secret& secret, std::span<const std::byte> text) {
  static_assert(kMacSize == SHA256_DIGEST_SIZE);
  Mac mac;
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, secret.size(), secret.data());
  hmac_sha256_update(&context, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
#if NETTLE_VERSION_MAJOR < 4
  hmac_sha256_digest(&context, mac.size(), reinterpret_cast<std::uint8_t*>(mac.data()));
#else
  hmac_sha256_digest(&context, reinterpret_cast<std::uint8_t*>(mac.data()));
#endif
  return mac;
}

Secret secret_from(const Mac& mac) { return std::bit_cast<Secret>(mac); }

bool same_mac(std::span<const std::byte, kMacSize> one, std::span<const std::byte, kMacSize> other) {
  return memeql_sec(one.data(), other.data(), kMacSize) != 0;
}

}  // namespace nezha
