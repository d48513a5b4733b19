// SPDX-License-Identifier: BSD-3-Clause
/// As long as it lives, no file of this process grows beyond some bytes, as on a disk that is full.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace nezha {

class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{most, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

}  // namespace nezha
