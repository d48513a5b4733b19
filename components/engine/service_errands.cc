// SPDX-License-Identifier: BSD-3-Clause
#include "engine/service_errands.h"

#include <algorithm>

namespace nezha {

void ServiceErrands::post(Errand& errand) {
  {
    const std::lock_guard guard(mutex_);
    queue_.push_back(&errand);
  }
  wake_();
}

bool ServiceErrands::recall(Errand& errand) {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [&] { return running_ != &errand; });
  const auto found = std::find(queue_.begin(), queue_.end(), &errand);
  if (found == queue_.end()) return true;
  queue_.erase(found);
  return false;
}

bool ServiceErrands::run() {
  std::unique_lock lock(mutex_);
  bool any = false;
  for (; !queue_.empty(); any = true) {
    running_ = queue_.front();
    queue_.erase(queue_.begin());
    lock.unlock();
    running_->run();
    lock.lock();
    running_ = nullptr;
    over_.notify_all();
  }
  return any;
}

}  // namespace nezha
