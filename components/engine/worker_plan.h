// SPDX-License-Identifier: BSD-3-Clause
/// Which rails get a worker, and which cores it is bound to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/notices.h"
#include "engine/topology.h"
#include "rail/rail.h"
#include "util/params.h"

namespace nezha {

struct WorkerPlace {
  std::size_t rail;  ///< of the process
  Cores cores;       ///< all allowed ones where there is nothing to choose by

  bool operator==(const WorkerPlace&) const = default;
};

/// By the parameters rail_threads and rail_cores. `local_ranks`: of this job on this node, 0 = unknown. What the user
/// should know (lists that are not taken, and what is done instead) goes to `notices`.
std::vector<WorkerPlace> plan_workers(const Config& config, const std::vector<RailAddress>& rails, const Topology& topology,
                                      std::uint32_t local_ranks, const std::string& node, Notices& notices);

}  // namespace nezha
