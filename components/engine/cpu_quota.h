// SPDX-License-Identifier: BSD-3-Clause
/// How much processor time the control groups of a process grant it, as containers and batch systems limit it: cgroups(7),
/// versions 1 and 2.
#pragma once

#include <cstddef>
#include <string>

namespace nezha {

/// In processors, rounded down, 1 at least; 0: there is no limit, or none that can be read. Reads small files, so it is for the start.
/// `groups`: the file that names the process's groups. `mounted`: below it are their limits.
std::size_t cpu_quota(const std::string& groups = "/proc/self/cgroup", const std::string& mounted = "/sys/fs/cgroup");

}  // namespace nezha
