// SPDX-License-Identifier: BSD-3-Clause
/// Simulated worlds, one after the other, each from a seed of its own, until so many operations were done.
///
///   sim_run [--seed N] [--operations N] [--calls N] [--faults N] [--service] [--nodes] [--rdma] [--shorten]
///           [--talk]
///
/// --calls, --faults: most of one world. A seed that failed with so many fails again with as many.
/// --service: worlds with one to three aggregation services, to which much happens.
/// --nodes: only worlds whose nodes have several ranks, which share memory; else a part of them has.
/// --rdma: only worlds of which some networks are for RDMA, or all; else a part of them has such.
/// --shorten: looks for fewer calls and faults with which the seed that failed still fails.
/// --talk: one world, with the log lines of all its ranks and its faults.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "../unit/count_allocations.h"
#include "../unit/open_descriptors.h"
#include "../unit/slowed_down.h"
#include "world.h"

namespace {

using namespace nezha::test;

struct Options {
  Scope scope;
  std::uint64_t operations = slowed_down() ? 1000 : 5000;
  bool shorten = false;
  bool talk = false;
};

bool parse(int count, char** words, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const std::pair<std::string_view, bool*> switches[] = {{"--service", &options.scope.service},
                                                           {"--nodes", &options.scope.nodes},
                                                           {"--rdma", &options.scope.rdma},
                                                           {"--talk", &options.talk},
                                                           {"--shorten", &options.shorten}};
    const auto found = std::find_if(std::begin(switches), std::end(switches), [&](const auto& each) { return each.first == word; });
    if (found != std::end(switches)) {
      *found->second = true;
      continue;
    }
    const char* value = ++i < count ? words[i] : "";
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(value, &end, 10);
    if (end == value || *end != '\0') return false;
    if (word == "--seed")
      options.scope.seed = number;
    else if (word == "--operations")
      options.operations = number;
    else if (word == "--calls")
      options.scope.calls = number;
    else if (word == "--faults")
      options.scope.faults = number;
    else
      return false;
  }
  return true;
}

struct Outcome {
  bool fine = true;
  std::uint64_t fingerprint = 0;
  std::size_t faults = 0;  ///< that happened
};

/// Some memory that ranks of a node share is mapped.
bool maps_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:nezha") != std::string::npos) return true;
  return false;
}

/// `print`: says how it failed.
Outcome run_world(const Scope& scope, bool talk, bool print, Tally& tally) {
  static bool first = true;  // with it things are made that stay
  const std::size_t before = live_bytes();
  const std::ptrdiff_t descriptors = open_descriptors();
  Outcome outcome;
  std::string failure;
  {
    World world(scope, talk);
    failure = world.run(tally);
    outcome.fingerprint = world.fingerprint();
    outcome.faults = world.faults_happened();
    if (!failure.empty())
      failure = "after " + std::to_string(static_cast<double>(world.network().now()) / nezha::kSecond) + " s and " +
                std::to_string(outcome.faults) + " faults: " + failure + "\n  " + world.setting().text();
  }
  if (const std::size_t after = live_bytes(); failure.empty() && after != before && !first)
    failure = ": " + std::to_string(after - before) + " bytes have leaked";
  if (failure.empty() && open_descriptors() != descriptors) failure = ": descriptors stay open";
  if (failure.empty() && maps_shared_memory()) failure = ": shared memory stays mapped";
  first = false;
  outcome.fine = failure.empty();
  if (!outcome.fine && print)
    std::printf("seed %llu with %zu calls FAILED %s\n", static_cast<unsigned long long>(scope.seed), scope.calls,
                failure.c_str());
  return outcome;
}

/// Halves the range of one number of a failing scope: ends at one with which it fails, while it passes with one less.
void shorten(Scope& scope, std::size_t Scope::*number) {
  Tally unused;
  for (std::size_t passes = 0; passes < scope.*number;) {
    Scope middle = scope;
    middle.*number = passes + (scope.*number - passes) / 2;
    if (run_world(middle, false, false, unused).fine)
      passes = middle.*number + 1;
    else
      scope = middle;
  }
}

/// Calls and faults depend on each other, so a second round may find less than the first.
Scope shortened(Scope scope) {
  for (int round = 0; round < 2; ++round) {
    shorten(scope, &Scope::faults);
    shorten(scope, &Scope::calls);
  }
  return scope;
}

void tell_how_to_replay(const Scope& scope) {
  std::printf("replay it by: sim_run --seed %llu --calls %zu --faults %zu%s%s%s --talk\n",
              static_cast<unsigned long long>(scope.seed), scope.calls, scope.faults, scope.service ? " --service" : "",
              scope.nodes ? " --nodes" : "", scope.rdma ? " --rdma" : "");
}

/// The same world once more.
bool replays(const Scope& scope, std::uint64_t fingerprint) {
  Tally unused;
  if (run_world(scope, false, false, unused).fingerprint == fingerprint) return true;
  std::printf("seed %llu does not replay\n", static_cast<unsigned long long>(scope.seed));
  return false;
}

/// What a run that went well has seen.
void tell(const Tally& tally, std::uint64_t first, std::uint64_t last, double took) {
  const auto number = [](auto value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu operations of %llu calls in %llu worlds, seeds %llu to %llu: all right\n"
              "%.1f virtual seconds in %.1f (%.0f operations/s), %llu frames, %.1f MiB\n"
              "%llu faults, %llu ends of lanes lost, %llu suspicions, %llu pieces sent again\n"
              "%llu operations of aggregation services, %llu by way of nodes' memory\n"
              "%llu processes died, %llu operations returned an error, %llu teams declined\n",
              number(tally.operations), number(tally.calls), number(tally.worlds), number(first), number(last),
              static_cast<double>(tally.time) / nezha::kSecond, took, static_cast<double>(tally.operations) / took,
              number(tally.frames), static_cast<double>(tally.bytes) / 1048576, number(tally.faults),
              number(tally.lanes_lost), number(tally.suspicions), number(tally.replays), number(tally.aggregated),
              number(tally.shared), number(tally.deaths),
              number(tally.failed), number(tally.declined));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: sim_run [--seed N] [--operations N] [--calls N] [--faults N] [--service] [--nodes] [--rdma] "
                 "[--shorten] [--talk]\n");
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  Tally tally;
  Scope scope = options.scope;
  if (options.talk) return run_world(scope, true, true, tally).fine ? 0 : 1;
  for (Outcome outcome; tally.operations < options.operations; ++scope.seed) {
    outcome = run_world(scope, false, true, tally);
    if (!outcome.fine) {
      scope.faults = std::min(scope.faults, outcome.faults);
      tell_how_to_replay(options.shorten ? shortened(scope) : scope);
      return 1;
    }
    if (tally.operations >= options.operations && !replays(scope, outcome.fingerprint)) return 1;
  }
  tell(tally, options.scope.seed, scope.seed - 1,
       std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return 0;
}
