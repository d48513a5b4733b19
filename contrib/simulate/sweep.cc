// SPDX-License-Identifier: BSD-3-Clause
#include "sweep.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "cluster.h"

namespace nezha_simulate {

std::vector<Measured> sweep(const std::vector<Setting>& settings, int jobs,
                            const std::function<void(double)>& progress) {
  std::vector<Measured> found(settings.size());
  std::vector<double> parts(settings.size());
  std::atomic<std::size_t> next = 0;
  std::mutex telling;
  const auto work = [&] {
    for (std::size_t number = next++; number < settings.size(); number = next++) {
      Cluster cluster(settings[number]);
      found[number] = cluster.run([&](double part) {
        if (!progress) return;
        const std::lock_guard lock(telling);
        parts[number] = part;
        progress(std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(parts.size()));
      });
    }
  };
  const std::size_t threads = std::min(settings.size(), static_cast<std::size_t>(std::max(1, jobs)));
  std::vector<std::jthread> others;
  for (std::size_t started = 1; started < threads; ++started) others.emplace_back(work);
  work();
  others.clear();
  return found;
}

}  // namespace nezha_simulate
