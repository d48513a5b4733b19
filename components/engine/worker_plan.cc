// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worker_plan.h"

#include <algorithm>

namespace nezha {
namespace {

/// One core of each rank's part is the caller's; the others are spare.
bool cores_to_spare(const Topology& topology, std::uint32_t local_ranks, std::size_t rails) {
  return local_ranks != 0 && topology.allowed_cores() / local_ranks >= rails + 1;
}

void name_unknown_rails(const Config& config, const std::vector<RailAddress>& rails, const std::string& node, Notices& notices) {
  std::string names;
  for (const RailAddress& rail : rails) names += (names.empty() ? "" : ", ") + rail.name;
  for (const CoreList::Entry& entry : config.rail_cores.entries)
    if (std::none_of(rails.begin(), rails.end(), [&](const RailAddress& rail) { return rail.name == entry.rail; }))
      notices.push_back({"no such rail for cores", {entry.rail, node, names}});
}

}  // namespace

std::vector<WorkerPlace> plan_workers(const Config& config, const std::vector<RailAddress>& rails, const Topology& topology,
                                      std::uint32_t local_ranks, const std::string& node, Notices& notices) {
  std::vector<WorkerPlace> places;
  if (config.rail_threads == RailThreads::none) return places;
  name_unknown_rails(config, rails, node, notices);
  const bool all = config.rail_threads == RailThreads::all || cores_to_spare(topology, local_ranks, rails.size());
  const Cores& allowed = topology.allowed();
  for (std::size_t rail = 0; rail < rails.size(); ++rail) {
    const Cores* wanted = config.rail_cores.of(rails[rail].name);
    const bool taken = wanted != nullptr && std::includes(allowed.begin(), allowed.end(), wanted->begin(), wanted->end());
    const Cores cores = taken ? *wanted : topology.near(rails[rail].name);
    if (wanted != nullptr && !taken)
      notices.push_back({"cores outside the cpuset",
                         {rails[rail].name, node, cores_text(*wanted), cores_text(allowed),
                          all ? "a thread bound to " + cores_text(cores) : "no thread for this rail"}});
    if (all || taken) places.push_back({rail, cores});
  }
  return places;
}

}  // namespace nezha
