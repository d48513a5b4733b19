// SPDX-License-Identifier: BSD-3-Clause
/// Errands that transports leave to the service thread. It runs them without the engine's lock, whether or not somebody drives.
#pragma once

#include <functional>
#include <utility>

#include "engine/errand_queue.h"

namespace nezha {

class ServiceErrands final : public ErrandQueue {
 public:
  /// `wake` has the service thread call run() soon, once that thread is there.
  explicit ServiceErrands(std::function<void()> wake) : wake_(std::move(wake)) {}

  void post(Errand& errand) override;
  /// On the service thread, without the engine's lock: runs what has been posted. True when there was something.
  bool run();

 private:
  const std::function<void()> wake_;
};

}  // namespace nezha
