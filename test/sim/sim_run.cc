// SPDX-License-Identifier: BSD-3-Clause
/// Simulated worlds, one after the other, each from a seed of its own, until so many operations were done.
///
///   sim_run [--seed N] [--operations N] [--calls N] [--talk]
///
/// --calls: of one world. A seed that failed with so many calls fails again with as many.
/// --talk: one world, with the log lines of all its ranks.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "world.h"

namespace {

using namespace nezha::test;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t operations = 5000;
  std::size_t calls = 30;
  bool talk = false;
};

bool parse(int count, char** words, Options& options) {
  for (int i = 1; i < count; ++i) {
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (std::strcmp(words[i], "--talk") == 0) {
      options.talk = true;
      continue;
    }
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(value, &end, 10);
    if (end == value || *end != '\0') return false;
    if (std::strcmp(words[i], "--seed") == 0)
      options.seed = number;
    else if (std::strcmp(words[i], "--operations") == 0)
      options.operations = number;
    else if (std::strcmp(words[i], "--calls") == 0)
      options.calls = number;
    else
      return false;
    ++i;
  }
  return true;
}

/// False when it failed. `print`: say how.
bool run_world(std::uint64_t seed, std::size_t calls, bool talk, bool print, Tally& tally, std::uint64_t& fingerprint) {
  World world(seed, calls, talk);
  const std::string failure = world.run(tally);
  fingerprint = world.fingerprint();
  if (failure.empty()) return true;
  if (print)
    std::printf("seed %llu with %zu calls FAILED after %.6f s: %s\n  %s\n", static_cast<unsigned long long>(seed), calls,
                static_cast<double>(world.network().now()) / nezha::kSecond, failure.c_str(),
                world.setting().text().c_str());
  return false;
}

/// The fewest calls with which the seed still fails.
std::size_t shorten(std::uint64_t seed, std::size_t calls) {
  std::size_t passes = 0;
  Tally unused;
  std::uint64_t fingerprint;
  while (passes + 1 < calls) {
    const std::size_t middle = (passes + calls) / 2;
    (run_world(seed, middle, false, false, unused, fingerprint) ? passes : calls) = middle;
  }
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: sim_run [--seed N] [--operations N] [--calls N] [--talk]\n");
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  Tally tally;
  std::uint64_t fingerprint = 0;
  std::uint64_t seed = options.seed;
  if (options.talk) return run_world(seed, options.calls, true, true, tally, fingerprint) ? 0 : 1;
  for (; tally.operations < options.operations; ++seed) {
    if (run_world(seed, options.calls, false, true, tally, fingerprint)) continue;
    const std::size_t calls = shorten(seed, options.calls);
    std::printf("replay it by: sim_run --seed %llu --calls %zu --talk\n", static_cast<unsigned long long>(seed), calls);
    return 1;
  }
  Tally unused;
  std::uint64_t again = 0;
  run_world(seed - 1, options.calls, false, true, unused, again);
  if (again != fingerprint) {
    std::printf("seed %llu does not replay\n", static_cast<unsigned long long>(seed - 1));
    return 1;
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%llu operations of %llu calls in %llu worlds, seeds %llu to %llu: all right\n"
              "%.1f virtual seconds in %.1f (%.0f operations/s), %llu frames, %.1f MiB, %llu pieces sent again, "
              "%llu ends of lanes lost, %llu teams declined\n",
              static_cast<unsigned long long>(tally.operations), static_cast<unsigned long long>(tally.calls),
              static_cast<unsigned long long>(tally.worlds), static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(seed - 1), static_cast<double>(tally.time) / nezha::kSecond, took,
              static_cast<double>(tally.operations) / took, static_cast<unsigned long long>(tally.frames),
              static_cast<double>(tally.bytes) / 1048576, static_cast<unsigned long long>(tally.replays),
              static_cast<unsigned long long>(tally.lanes_lost), static_cast<unsigned long long>(tally.declined));
  return 0;
}
