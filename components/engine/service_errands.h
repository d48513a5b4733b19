// SPDX-License-Identifier: BSD-3-Clause
/// Errands that transports leave to the service thread. It runs them without the engine's lock, whether or not somebody drives.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "rail/rail.h"

namespace nezha {

class ServiceErrands final : public RailWorker {
 public:
  /// `wake` has the service thread call run() soon, once that thread is there.
  explicit ServiceErrands(std::function<void()> wake) : wake_(std::move(wake)) {}

  void post(Errand& errand) override;
  bool recall(Errand& errand) override;
  /// On the service thread, without the engine's lock: runs what has been posted. True when there was something.
  bool run();

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;  ///< innermost: taken with the engine's lock held, never the other way round
  std::condition_variable over_;
  std::vector<Errand*> queue_;
  Errand* running_ = nullptr;
};

}  // namespace nezha
