// SPDX-License-Identifier: BSD-3-Clause
/// The processors that a thread may run on, of which there may be more than a cpu_set_t has room for.
#pragma once

#include <sched.h>

#include <cerrno>
#include <vector>

namespace nezha {

class Affinity {
 public:
  /// This thread's.
  Affinity() {
    while (sched_getaffinity(0, bytes(), sets_.data()) != 0) {
      if (errno != EINVAL || sets_.size() == kMost) {
        sets_.clear();
        return;
      }
      sets_.resize(2 * sets_.size());
    }
  }
  /// This thread may run there from here on, if the kernel allows it.
  void take() const {
    if (!sets_.empty()) sched_setaffinity(0, bytes(), sets_.data());
  }

 private:
  static constexpr std::size_t kMost = 64;

  std::size_t bytes() const { return sets_.size() * sizeof(cpu_set_t); }

  std::vector<cpu_set_t> sets_ = std::vector<cpu_set_t>(1);  ///< empty: not known
};

}  // namespace nezha
