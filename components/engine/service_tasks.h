// SPDX-License-Identifier: BSD-3-Clause
/// Tasks that transports leave to the service thread. It runs them without the engine's lock, whether or not somebody drives.
#pragma once

#include <functional>
#include <utility>

#include "engine/task_queue.h"

namespace nezha {

class ServiceTasks final : public TaskQueue {
 public:
  /// `wake` has the service thread call run() soon, once that thread is there.
  explicit ServiceTasks(std::function<void()> wake) : wake_(std::move(wake)) {}

  void submit(Task& task) override;
  /// On the service thread, without the engine's lock: runs what has been submitted. True when there was something.
  bool run();

 private:
  const std::function<void()> wake_;
};

}  // namespace nezha
