// SPDX-License-Identifier: BSD-3-Clause
/// The workers of this process's rails: none, or threads that start with the first team.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/core.h"
#include "engine/worker_plan.h"
#include "engine/worker_thread.h"

namespace nezha {

class Workers {
 public:
  /// Decides which rails get one. With the engine's lock, once the rails are known.
  void plan(const Core& core, std::uint32_t local_ranks, Notices& notices);
  /// Starts them, the first time, and makes them known to their rails' transports. With the engine's lock.
  void start(Core& core);

 private:
  std::unique_ptr<Topology> topology_;  ///< as long as it is needed
  std::vector<WorkerPlace> places_;     ///< still to be started
  std::vector<std::unique_ptr<WorkerThread>> threads_;
};

}  // namespace nezha
