// SPDX-License-Identifier: BSD-3-Clause
/// What the engine has carried, for the report and for tools.
#include <algorithm>
#include <cstdio>

#include "engine/engine.h"
#include "tuning/candidates.h"

namespace nezha {

static_assert(NEZHA_SIZE_CLASSES == kSizeClasses);

void Engine::count(std::size_t bytes, Nanoseconds took, std::size_t aggregated) {
  nezha_class_stats_t& entry = classes_[size_class_of(bytes)];
  entry.calls += 1;
  entry.bytes += bytes;
  entry.time_ns += static_cast<std::uint64_t>(took);
  entry.aggregated += aggregated;
  calls_ += 1;
  bytes_ += bytes;
}

void Engine::count_shared(std::size_t bytes, Nanoseconds took) {
  shared_.calls += 1;
  shared_.bytes += bytes;
  shared_.time_ns += static_cast<std::uint64_t>(took);
}

nezha_memory_stats_t Engine::memory_stats() {
  Lock lock(mutex_);
  return memory_so_far();
}

nezha_memory_stats_t Engine::memory_so_far() const {
  nezha_memory_stats_t stats = shared_;
  const Hierarchy::Times times = core_.shared_times();
  stats.copied_in_ns = static_cast<std::uint64_t>(times.node.copied_in);
  stats.reduced_ns = static_cast<std::uint64_t>(times.node.reduced);
  stats.gathered_ns = static_cast<std::uint64_t>(times.node.gathered);
  stats.between_ns = static_cast<std::uint64_t>(times.between);
  stats.shared_ns = static_cast<std::uint64_t>(times.node.shared);
  return stats;
}

std::size_t Engine::rails() {
  Lock lock(mutex_);
  return core_.rails();
}

bool Engine::rail_stats(std::size_t index, nezha_rail_stats_t& stats) {
  Lock lock(mutex_);
  if (index >= core_.rails()) return false;
  stats = {};
  const RailLoad& load = core_.loads()[index];
  const RailAddress& rail = core_.self().rails[index];
  std::uint64_t total = 0;
  for (const RailLoad& other : core_.loads()) total += other.bytes_sent;
  std::snprintf(stats.name, sizeof stats.name, "%s", rail.label().c_str());
  std::snprintf(stats.address, sizeof stats.address, "%s", core_.where(rail).c_str());
  stats.bytes_sent = load.bytes_sent;
  stats.bytes_received = load.bytes_received;
  stats.frames_sent = load.frames_sent;
  stats.frames_received = load.frames_received;
  stats.retransmissions = load.retransmissions;
  stats.busy_ns = static_cast<std::uint64_t>(load.busy);
  stats.share = total == 0 ? 0 : static_cast<std::uint32_t>(static_cast<double>(load.bytes_sent) / static_cast<double>(total) * 65536);
  stats.lanes_up = load.lanes_up;
  stats.lanes_failed = load.lanes_failed;
  stats.suspicions = load.suspicions;
  stats.failovers = load.failovers;
  stats.reconnections = load.reconnections;
  return true;
}

bool Engine::rail_nic(std::size_t index, nezha_rail_nic_t& nic) {
  Lock lock(mutex_);
  if (index >= core_.rails()) return false;
  nic = {};
  std::snprintf(nic.pci_device, sizeof nic.pci_device, "%s", core_.pci_device(index).c_str());
  nic.speed_mbps = core_.self().rails[index].speed_mbps;
  return true;
}

void Engine::class_stats(nezha_class_stats_t* stats) {
  Lock lock(mutex_);
  std::copy(classes_.begin(), classes_.end(), stats);
}

void Engine::totals(std::uint64_t& calls, std::uint64_t& bytes) {
  Lock lock(mutex_);
  calls = calls_;
  bytes = bytes_;
}

}  // namespace nezha
