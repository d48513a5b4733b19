// SPDX-License-Identifier: BSD-3-Clause
/// The key that ranks and aggregators share by a file.
#pragma once

#include "util/file.h"
#include "util/hmac.h"
#include "util/status.h"

namespace nezha {

/// Reads the file. Not ok: there is none, somebody else than its owner may read or write it, or it is too short or too long.
/// Blocks on the file system.
Status read_aggregator_key(const FilePath& path, Secret& key);

}  // namespace nezha
