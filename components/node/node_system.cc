// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_system.h"

#include <unistd.h>

#include "node/peer_memory.h"

namespace nezha {

NodeSystem& NodeSystem::real() {
  static NodeSystem system;
  return system;
}

pid_t NodeSystem::process() const { return getpid(); }

Status NodeSystem::make(std::size_t size, Fd& descriptor) const { return SharedMemory::make(size, descriptor); }

Status NodeSystem::map(const Fd& descriptor, std::size_t size, SharedMemory& memory) const {
  return memory.map(descriptor, size);
}

int NodeSystem::read(pid_t process, std::uint64_t from, std::byte* to, std::size_t bytes) const {
  return read_peer_memory(process, from, to, bytes);
}

}  // namespace nezha
