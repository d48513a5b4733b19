// SPDX-License-Identifier: BSD-3-Clause
#include "util/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace nezha {

Status hmac_sha256(const Secret& secret, std::span<const std::byte> text, Mac& mac) {
  unsigned size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                   reinterpret_cast<unsigned char*>(mac.data()), &size);
  if (made == nullptr || size != mac.size()) return {Code::internal, "libcrypto refused to compute HMAC-SHA256"};
  return {};
}

bool same_mac(std::span<const std::byte, kMacSize> one, std::span<const std::byte, kMacSize> other) {
  return CRYPTO_memcmp(one.data(), other.data(), kMacSize) == 0;
}

}  // namespace nezha
