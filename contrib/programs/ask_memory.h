// SPDX-License-Identifier: BSD-3-Clause
/// Whether two processes of this node can share memory as ranks of a job do, and how they would read each other's vectors.
#pragma once

#include <string>

namespace nezha {

struct MemoryAnswer {
  std::string way;  ///< "single_copy": each can read the other by process_vm_readv; "copies": through the memory; "none"
  std::string why;  ///< it is no better; empty for single_copy
};

/// Tries it with two children of this process, which are to each other what two ranks are. Takes milliseconds, seconds at most.
MemoryAnswer ask_memory();

}  // namespace nezha
