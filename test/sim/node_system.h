// SPDX-License-Identifier: BSD-3-Clause
/// The system as a simulated process has it for the memory of its node. The memory is real, and mapped by each process anew, and
/// so are the sockets by which it is handed on; processes are the world's, and each may be refused something.
#pragma once

#include "node/node_system.h"

namespace nezha::test {

class World;

class SimNodeSystem final : public NodeSystem {
 public:
  SimNodeSystem(const World& world, int rank) : world_(world), rank_(rank) {}

  pid_t process() const override { return ended_ ? 0 : rank_ + 1; }
  Status make(std::size_t size, Fd& descriptor) const override;
  Status map(const Fd& descriptor, std::size_t size, SharedMemory& memory) const override;
  int read(pid_t process, std::uint64_t from, std::byte* to, std::size_t bytes) const override;

  /// Its process ends: from here on it says nothing any more.
  void end() { ended_ = true; }

 private:
  const World& world_;
  const int rank_;
  bool ended_ = false;
};

}  // namespace nezha::test
