// SPDX-License-Identifier: BSD-3-Clause
/// Reads the memory of another process of this node by its address there. Needs no memory shared with it; the system
/// may forbid it (another user, ptrace_scope of Yama, seccomp of a container).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace nezha {

/// 0 when all `bytes` bytes were read, else an errno value; `to` is unspecified then. ESRCH: the process has ended, be
/// it a zombie; one whose first thread alone has ended can be read. Never blocks for the other process.
int read_peer_memory(pid_t pid, std::uint64_t from, std::byte* to, std::size_t bytes);

}  // namespace nezha
