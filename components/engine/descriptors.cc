// SPDX-License-Identifier: BSD-3-Clause
#include "engine/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace nezha {

Descriptors descriptors() {
  Descriptors found{std::numeric_limits<std::size_t>::max(), 0};
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) found.limit = limit.rlim_cur;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) {  // then what is used cannot be told, what lanes need still counts
    if (errno == EMFILE) found.used = found.limit;
    return found;
  }
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.') ++found.used;
  closedir(folder);
  return found;
}

void reserve_descriptors(int any, std::size_t more) {
  const Descriptors now = descriptors();
  const int last = fcntl(any, F_DUPFD_CLOEXEC, static_cast<int>(std::min(now.used + more, now.limit) - 1));
  if (last >= 0) close(last);
}

}  // namespace nezha
