// SPDX-License-Identifier: BSD-3-Clause
/// Memory for a NIC, or a provider in place of one.
#pragma once

#include <cstddef>
#include <memory>

namespace nezha {

/// Zeros, in pages that hold nothing else and that a child of fork() does not have. If a child shared them, this
/// process's next write would move it to another page than the NIC goes on with; and libraries that keep registered
/// pages from children would keep what else lies in them, too. Throws std::bad_alloc.
std::shared_ptr<std::byte[]> make_pages(std::size_t size);

}  // namespace nezha
