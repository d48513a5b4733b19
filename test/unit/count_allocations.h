// SPDX-License-Identifier: BSD-3-Clause
/// Linking count_allocations.cc replaces operator new of the whole test program by one that counts.
#pragma once

#include <cstddef>

namespace nezha::test {

/// Calls of operator new so far, by any thread.
std::size_t allocations();
/// Bytes of operator new that were not given back.
std::size_t live_bytes();

}  // namespace nezha::test
