// SPDX-License-Identifier: BSD-3-Clause
#include "engine/task_queue.h"

#include <algorithm>

namespace nezha {

bool TaskQueue::cancel(Task& task) {
  Lock lock(mutex_);
  over_.wait(lock, [&] { return running_ != &task; });
  const auto found = std::find(queue_.begin(), queue_.end(), &task);
  if (found == queue_.end()) return true;
  queue_.erase(found);
  return false;
}

void TaskQueue::run_first(Lock& lock) {
  running_ = queue_.front();
  queue_.erase(queue_.begin());
  lock.unlock();
  running_->run();
  lock.lock();
  running_ = nullptr;
  over_.notify_all();
}

}  // namespace nezha
