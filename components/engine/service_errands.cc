// SPDX-License-Identifier: BSD-3-Clause
#include "engine/service_errands.h"

namespace nezha {

void ServiceErrands::post(Errand& errand) {
  {
    const std::lock_guard guard(mutex_);
    queue_.push_back(&errand);
  }
  wake_();
}

bool ServiceErrands::run() {
  Lock lock(mutex_);
  const bool any = !queue_.empty();
  while (!queue_.empty()) run_first(lock);
  return any;
}

}  // namespace nezha
