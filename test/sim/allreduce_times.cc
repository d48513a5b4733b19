// SPDX-License-Identifier: BSD-3-Clause
/// How long calls take over the simulated network, where processors cost nothing, in virtual time: what nezha plan's
/// model has to give for such a cluster (test_plan_times.py). Prints lines of algorithm, ranks, rails, bytes and
/// nanoseconds.
#include <algorithm>
#include <cstdio>

#include "scenario.h"
#include "tuning/candidate.h"

namespace {

using namespace nezha;
using namespace nezha::test;

constexpr AlgorithmChoice kAlgorithms[] = {AlgorithmChoice::single_step, AlgorithmChoice::doubling,
                                           AlgorithmChoice::mesh, AlgorithmChoice::halving, AlgorithmChoice::ring};
constexpr int kRanks[] = {2, 3, 4, 6, 8};
constexpr std::size_t kRails[] = {1, 2};
constexpr std::size_t kBytes[] = {1024, 16 * 1024, 256 * 1024, 2 * 1024 * 1024};

/// Of the fastest call behind the first one, which waits for lanes; 0: it failed.
Nanoseconds time_of(const Scenario& scenario) {
  const Story story = play(scenario, {});
  if (story.failure.empty()) return *std::min_element(story.took.begin() + 1, story.took.end());
  std::printf("# %s\n", story.failure.c_str());
  return 0;
}

bool possible(AlgorithmChoice algorithm, std::size_t bytes) {
  return bytes <= kMostCopied || (algorithm != AlgorithmChoice::single_step && algorithm != AlgorithmChoice::doubling);
}

}  // namespace

int main() {
  Scenario scenario;
  scenario.rate = 1.25;
  for (const AlgorithmChoice algorithm : kAlgorithms)
    for (const int ranks : kRanks)
      for (const std::size_t rails : kRails)
        for (const std::size_t bytes : kBytes) {
          if (!possible(algorithm, bytes)) continue;
          scenario.algorithm = algorithm;
          scenario.ranks = ranks;
          scenario.rails = rails;
          scenario.bytes = bytes;
          scenario.calls = bytes > 256 * 1024 ? 3 : 12;
          const Nanoseconds time = time_of(scenario);
          if (time == 0) return 1;
          std::printf("%s %d %zu %zu %lld\n", name_of(algorithm), ranks, rails, bytes, static_cast<long long>(time));
        }
  return 0;
}
