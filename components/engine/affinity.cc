// SPDX-License-Identifier: BSD-3-Clause
#include "engine/affinity.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "engine/signals_blocked.h"

namespace nezha {

Affinity::Affinity() {
  while (sched_getaffinity(0, bytes(), sets_.data()) != 0) {
    if (errno != EINVAL || sets_.size() == kMost) {
      sets_.clear();
      return;
    }
    sets_.resize(2 * sets_.size());
  }
}

Affinity Affinity::everywhere() {
  Affinity all;
  all.sets_.resize(kMost);
  std::memset(all.sets_.data(), 0xff, all.bytes());
  return all;
}

std::size_t Affinity::count() const {
  return sets_.empty() ? 0 : static_cast<std::size_t>(CPU_COUNT_S(bytes(), sets_.data()));
}

bool Affinity::meets(const Cores& cores) const {
  const auto is_one = [this](unsigned core) { return CPU_ISSET_S(core, bytes(), sets_.data()); };
  return sets_.empty() || std::any_of(cores.begin(), cores.end(), is_one);
}

bool Affinity::take() const { return !sets_.empty() && sched_setaffinity(0, bytes(), sets_.data()) == 0; }

/// The kernel grants a thread that asks for all processors those of its cpuset. It remembers what was asked for, so the thread is one
/// that ends.
std::size_t processors_of_all() {
  std::size_t count = 0;
  const SignalsBlocked meanwhile;
  try {
    std::thread([&count] {
      if (Affinity::everywhere().take()) count = Affinity().count();
    }).join();
  } catch (const std::system_error&) {  // no thread is to be had
  }
  return count != 0 ? count : static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace nezha
