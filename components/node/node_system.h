// SPDX-License-Identifier: BSD-3-Clause
/// What a process asks of the system for the memory of its node. One object for each process: a simulation has several
/// in one, and lets the system refuse.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "node/shared_memory.h"
#include "util/status.h"

namespace nezha {

class NodeSystem {
 public:
  virtual ~NodeSystem() = default;
  /// The one of a program.
  static NodeSystem& real();

  /// The process that asks: what others give to read().
  virtual pid_t process() const;
  /// SharedMemory::make().
  virtual Status make(std::size_t size, Fd& descriptor) const;
  /// SharedMemory::map().
  virtual Status map(const Fd& descriptor, std::size_t size, SharedMemory& memory) const;
  /// read_peer_memory().
  virtual int read(pid_t process, std::uint64_t from, std::byte* to, std::size_t bytes) const;
};

}  // namespace nezha
