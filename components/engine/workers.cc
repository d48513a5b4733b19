// SPDX-License-Identifier: BSD-3-Clause
#include "engine/workers.h"

#include <utility>

#include "engine/affinity.h"
#include "engine/cpu_quota.h"

namespace nezha {
namespace {

/// A quick look, since hwloc takes its time: with fewer hardware threads than this there are not enough cores either.
bool may_have_cores_to_spare(std::size_t rails, std::uint32_t local_ranks) {
  const std::size_t wanted = local_ranks * (rails + 1);
  const auto suffices = [wanted](std::size_t processors) { return processors == 0 || processors >= wanted; };  // 0: not known
  return local_ranks != 0 && suffices(Affinity().count()) && suffices(cpu_quota());
}

}  // namespace

void Workers::plan(const Core& core, std::uint32_t local_ranks, Notices& notices) {
  const Config& config = core.config();
  const bool asked = config.rail_threads == RailThreads::all || !config.rail_cores.entries.empty();
  if (config.rail_threads == RailThreads::none || core.rails() == 0) return;
  if (!asked && !may_have_cores_to_spare(core.rails(), local_ranks)) return;
  topology_ = std::make_unique<Topology>();
  places_ = plan_workers(config, core.self().rails, *topology_, local_ranks, core.self().node, notices);
}

void Workers::start(Core& core) {
  const std::vector<WorkerPlace> places = std::exchange(places_, {});
  threads_.reserve(places.size());
  for (const WorkerPlace& place : places) {
    const RailAddress& rail = core.self().rails[place.rail];
    auto thread = std::make_unique<WorkerThread>();
    if (!thread->start("nezha-" + rail.name)) {
      core.log().line(1, "rail %s: the system refuses a thread for its worker", rail.label().c_str());
      continue;
    }
    const bool bound = topology_->bind(thread->handle(), place.cores);
    core.log().line(2, "rail %s: its worker %s cores %s", rail.label().c_str(), bound ? "is bound to" : "could not be bound to",
                    cores_text(place.cores).c_str());
    core.employ(place.rail, *thread);
    threads_.push_back(std::move(thread));
  }
  topology_.reset();
}

}  // namespace nezha
