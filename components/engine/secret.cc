// SPDX-License-Identifier: BSD-3-Clause
#include "engine/secret.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "util/random.h"

namespace nezha {

Status make_key(Secret& key) { return random_bytes(std::as_writable_bytes(std::span(key))); }

Status pair_secret(const Address& mine, const Address& theirs, Secret& secret) {
  const bool lower = mine.id < theirs.id;
  const Secret& key = lower ? mine.key : theirs.key;
  const Secret& data = lower ? theirs.key : mine.key;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data.data(), data.size(), secret.data(), &size) ==
          nullptr ||
      size != secret.size())
    return {Code::internal, "libcrypto refuses to compute HMAC-SHA256"};
  return {};
}

}  // namespace nezha
