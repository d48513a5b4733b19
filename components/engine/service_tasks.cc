// SPDX-License-Identifier: BSD-3-Clause
#include "engine/service_tasks.h"

namespace nezha {

void ServiceTasks::submit(Task& task) {
  {
    const std::lock_guard guard(mutex_);
    queue_.push_back(&task);
  }
  wake_();
}

bool ServiceTasks::run() {
  Lock lock(mutex_);
  const bool any = !queue_.empty();
  while (!queue_.empty()) run_first(lock);
  return any;
}

}  // namespace nezha
