// SPDX-License-Identifier: BSD-3-Clause
#include "node/peer_memory.h"

#include <dirent.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace nezha {
namespace {

int read_by_way_of(pid_t thread, std::uint64_t from, std::byte* to, std::size_t bytes) {
  while (bytes != 0) {
    iovec local{to, bytes};
    iovec remote{reinterpret_cast<void*>(from), bytes};
    const ssize_t got = process_vm_readv(thread, &local, 1, &remote, 1, 0);
    if (got < 0) return errno;
    // A partial transfer ends before a page that cannot be read, or after 2 GiB; the next call tells which.
    if (got == 0) return EFAULT;
    to += got;
    from += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return 0;
}

}  // namespace

/// Under the number of a first thread that has ended, while others go on, the kernel finds no memory.
int read_peer_memory(pid_t pid, std::uint64_t from, std::byte* to, std::size_t bytes) {
  int error = read_by_way_of(pid, from, to, bytes);
  if (error != ESRCH) return error;
  DIR* const threads = opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
  if (threads == nullptr) return error;
  while (const dirent* entry = error == ESRCH ? readdir(threads) : nullptr)
    if (entry->d_name[0] != '.') error = read_by_way_of(std::atoi(entry->d_name), from, to, bytes);
  closedir(threads);
  return error;
}

}  // namespace nezha
