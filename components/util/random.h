// SPDX-License-Identifier: BSD-3-Clause
/// Random bytes fit for secrets, nonces and ids, from the kernel. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "util/status.h"

namespace nezha {

/// Fills all of `into`. On an error its contents are unspecified and must not be used.
Status random_bytes(std::span<std::byte> into);

/// A random number that is not 0, for ids of processes and teams. `id` is unchanged on an error.
Status random_id(std::uint64_t& id);

}  // namespace nezha
