// SPDX-License-Identifier: BSD-3-Clause
/// The processors that a thread may run on, of which there may be more than a cpu_set_t has room for.
#pragma once

#include <sched.h>

#include <cstddef>
#include <vector>

#include "util/core_list.h"

namespace nezha {

class Affinity {
 public:
  /// This thread's.
  Affinity();
  /// All that a machine may have.
  static Affinity everywhere();
  /// How many processors that are; 0: not known.
  std::size_t count() const;
  /// It is one of these, or not known.
  bool meets(const Cores& cores) const;
  /// This thread may run there from here on, as far as its cpuset goes. False: the kernel does not allow it.
  bool take() const;

 private:
  static constexpr std::size_t kMost = 64;

  std::size_t bytes() const { return sets_.size() * sizeof(cpu_set_t); }

  std::vector<cpu_set_t> sets_ = std::vector<cpu_set_t>(1);  ///< empty: not known
};

/// How many processors the ranks of this node may use together, however narrowly a launcher binds each: those of the cpuset.
std::size_t processors_of_all();

}  // namespace nezha
