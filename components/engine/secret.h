// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/address.h"

namespace nezha {

/// A fresh random key.
Status make_key(Secret& key);

/// What two processes of one job share: HMAC-SHA256 with the key of the lower id over the key of the higher. Whoever
/// cannot read what both published cannot compute it.
Secret pair_secret(const Address& mine, const Address& theirs);

}  // namespace nezha
