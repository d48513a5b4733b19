// SPDX-License-Identifier: BSD-3-Clause
#include "node_system.h"

#include <unistd.h>

#include <cerrno>

#include "node/peer_memory.h"
#include "world.h"

namespace nezha::test {

Status SimNodeSystem::make(std::size_t size, Fd& descriptor) const {
  if (world_.sharing().refuses(rank_, Refusal::making)) return {Code::io, "the simulated system makes no memory"};
  return NodeSystem::make(size, descriptor);
}

Status SimNodeSystem::map(const Fd& descriptor, std::size_t size, SharedMemory& memory) const {
  if (world_.sharing().refuses(rank_, Refusal::mapping)) return {Code::io, "the simulated system maps no memory"};
  return NodeSystem::map(descriptor, size, memory);
}

/// By the system call: it does not mind memory that its owner has let go of meanwhile.
int SimNodeSystem::read(pid_t process, std::uint64_t from, std::byte* to, std::size_t bytes) const {
  if (!world_.process(process - 1).exists()) return ESRCH;
  if (world_.sharing().refuses(rank_, Refusal::reading)) return EPERM;
  return read_peer_memory(getpid(), from, to, bytes);
}

}  // namespace nezha::test
