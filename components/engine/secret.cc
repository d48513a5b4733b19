// SPDX-License-Identifier: BSD-3-Clause
#include "engine/secret.h"

#include "util/hmac.h"
#include "util/random.h"

namespace nezha {

Status make_key(Secret& key) { return random_bytes(std::as_writable_bytes(std::span(key))); }

Secret pair_secret(const Address& mine, const Address& theirs) {
  const bool lower = mine.id < theirs.id;
  return secret_from(hmac_sha256(lower ? mine.key : theirs.key, std::as_bytes(std::span(lower ? theirs.key : mine.key))));
}

}  // namespace nezha
