// SPDX-License-Identifier: BSD-3-Clause
/// The cores of this machine that this process may use, and which of them are near an interface, as hwloc knows it.
#pragma once

#include <pthread.h>

#include <memory>
#include <string>

#include "util/core_list.h"

namespace nezha {

class Topology {
 public:
  Topology();
  /// A machine as hwloc's XML describes it, of which the process may use `allowed`.
  Topology(const std::string& xml, const Cores& allowed);
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// What this process is bound to: all its threads, and its cgroup. Empty: it cannot be found out.
  const Cores& allowed() const { return allowed_; }
  /// How many cores that is; hardware threads of one core count once.
  std::size_t allowed_cores() const;
  /// Those allowed ones that share the smallest part of the machine with the interface; all of them where that is not known.
  Cores near(const std::string& interface) const;
  /// Binds a thread of this process. False when the system refuses.
  bool bind(pthread_t thread, const Cores& cores) const;

 private:
  struct Hwloc;
  std::unique_ptr<Hwloc> hwloc_;  ///< null when it could not be loaded
  Cores allowed_;
};

}  // namespace nezha
