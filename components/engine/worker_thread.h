// SPDX-License-Identifier: BSD-3-Clause
/// The thread of one rail's worker: runs the tasks that the rail's lanes leave to it, and touches nothing else.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <string>
#include <thread>

#include "engine/task_queue.h"

namespace nezha {

class WorkerThread final : public TaskQueue {
 public:
  WorkerThread() = default;
  /// Runs no further task. No other call may be under way.
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// Starts the thread. False when the system refuses one more.
  bool start(const std::string& name);
  pthread_t handle() { return thread_.native_handle(); }

  void submit(Task& task) override;

 private:
  void work();
  void linger();

  std::condition_variable submitted_;
  bool stop_ = false;
  std::atomic<bool> waiting_ = false;  ///< the queue is not empty, or it is time to stop
  std::thread thread_;
};

}  // namespace nezha
