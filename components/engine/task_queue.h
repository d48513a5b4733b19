// SPDX-License-Identifier: BSD-3-Clause
/// Tasks that wait for a thread, and the one that it runs: what all kinds of RailWorker have in common.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "rail/rail.h"

namespace nezha {

class TaskQueue : public RailWorker {
 public:
  bool cancel(Task& task) final;

 protected:
  using Lock = std::unique_lock<std::mutex>;

  TaskQueue() = default;
  ~TaskQueue() = default;

  /// Runs the first of queue_, which is not empty, without the lock. On the worker.
  void run_first(Lock& lock);

  std::mutex mutex_;  ///< innermost: taken with the engine's lock held, never the other way round
  std::vector<Task*> queue_;

 private:
  std::condition_variable over_;
  Task* running_ = nullptr;
};

}  // namespace nezha
