// SPDX-License-Identifier: BSD-3-Clause
#include "node/peer_memory.h"

#include <sys/uio.h>

#include <cerrno>

namespace nezha {

int read_peer_memory(pid_t pid, std::uint64_t from, std::byte* to, std::size_t bytes) {
  while (bytes != 0) {
    iovec local{to, bytes};
    iovec remote{reinterpret_cast<void*>(from), bytes};
    const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got < 0) return errno;
    // A partial transfer ends before a page that cannot be read, or after 2 GiB; the next call tells which.
    if (got == 0) return EFAULT;
    to += got;
    from += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return 0;
}

}  // namespace nezha
