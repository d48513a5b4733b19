// SPDX-License-Identifier: BSD-3-Clause
/// File descriptors of this process. Lanes need one each, and the host must not run short of them because of ours: Open MPI
/// ends the job when it cannot connect.
#pragma once

#include <cstddef>

namespace nezha {

struct Descriptors {
  std::size_t limit;  ///< that the kernel allows at present
  std::size_t used;
};
/// Takes a system call per 1000 descriptors or so.
Descriptors descriptors();

/// Has the kernel's table of them hold `more` than are open, or as many as it allows; `any` is an open one. Where the table grows later, whoever
/// opens the next one waits until all processors have taken note, on a crowded machine for a minute. Who does so with the engine's
/// lock gives no sign of life meanwhile.
void reserve_descriptors(int any, std::size_t more);

/// What has to be left to the host of a team of so many ranks: a connection of its own to each, and some files.
constexpr std::size_t descriptors_of_host(std::size_t ranks) { return ranks + 64; }

/// What an engine holds at least once it has a rail, before any lane: three to wait by, one each for the handshakes, the service
/// thread and the changes of links, and two listeners.
constexpr std::size_t kDescriptorsOfEngine = 8;

}  // namespace nezha
