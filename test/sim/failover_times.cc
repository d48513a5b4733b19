// SPDX-License-Identifier: BSD-3-Clause
/// How much longer than it has to an operation takes in which a rail is lost, in virtual time: losses at random moments of
/// a ring over two rails. Prints the distribution for each kind of loss, and fails where one is beyond its limit.
///
///   failover_times [COUNT]   so many losses of each kind; 20
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "scenario.h"

namespace {

using namespace nezha;
using namespace nezha::test;

struct Loss {
  const char* name;
  Nanoseconds limit;
  void (*happens)(World&, int rank, std::size_t port);
};

void on_all(World& world, std::size_t port, bool carrier) {
  for (int rank = 0; rank < world.setting().shape.ranks; ++rank) {
    if (carrier)
      world.faults().outage(rank, port, kForEver);
    else
      world.faults().silence(rank, port, Way::both, kForEver);
  }
}

constexpr Loss kLosses[] = {
    {"carrier of one node", 20 * kMillisecond,
     [](World& world, int rank, std::size_t port) { world.faults().outage(rank, port, kForEver); }},
    {"carrier of all nodes", 20 * kMillisecond,
     [](World& world, int, std::size_t port) { on_all(world, port, true); }},
    {"silent, one node", 100 * kMillisecond,
     [](World& world, int rank, std::size_t port) { world.faults().silence(rank, port, Way::both, kForEver); }},
    {"silent, what one node sends", 100 * kMillisecond,
     [](World& world, int rank, std::size_t port) { world.faults().silence(rank, port, Way::out, kForEver); }},
    {"silent, what one node is sent", 100 * kMillisecond,
     [](World& world, int rank, std::size_t port) { world.faults().silence(rank, port, Way::in, kForEver); }},
    {"silent, all nodes", 100 * kMillisecond,
     [](World& world, int, std::size_t port) { on_all(world, port, false); }},
};

Scenario scenario() {
  Scenario out;
  out.bytes = 2 * 1024 * 1024;
  return out;
}

/// Of the second call, with both rails or one.
Nanoseconds undisturbed(std::size_t rails) {
  Scenario one = scenario();
  one.rails = rails;
  return play(one, {}).took[1];
}

/// Beyond what the rails that are left need for what was left to do.
bool measure(const Loss& loss, std::size_t count, Nanoseconds both, Nanoseconds one) {
  SimRandom random(1);
  std::vector<Nanoseconds> beyond;
  for (std::size_t i = 0; i < count; ++i) {
    Scenario drawn = scenario();
    drawn.seed = i + 1;
    const auto rank = static_cast<int>(random.below(static_cast<std::uint64_t>(drawn.ranks)));
    const std::size_t port = random.below(2);
    const Nanoseconds when = random.between(1, both);
    const Story story = play(drawn, {{1, when, [&](World& world) { loss.happens(world, rank, port); }}});
    if (!story.failure.empty()) {
      std::printf("%s, seed %zu: %s\n", loss.name, i + 1, story.failure.c_str());
      return false;
    }
    const double left = 1 - static_cast<double>(when) / static_cast<double>(both);
    beyond.push_back(story.took[1] - when - static_cast<Nanoseconds>(left * static_cast<double>(one)));
  }
  std::sort(beyond.begin(), beyond.end());
  const auto ms = [&](std::size_t at) { return static_cast<double>(beyond[at]) / kMillisecond; };
  std::printf("%-30s %8.1f %8.1f %8.1f %8.1f  limit %.0f\n", loss.name, ms(0), ms(count / 2), ms(count * 9 / 10),
              ms(count - 1), static_cast<double>(loss.limit) / kMillisecond);
  return beyond.back() <= loss.limit;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t usual = std::getenv("NEZHA_SANITIZER") != nullptr ? 2 : 20;
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : usual;
  if (count == 0) return 2;
  const Nanoseconds both = undisturbed(2), one = undisturbed(1);
  std::printf("undisturbed: %.1f ms with two rails, %.1f with one\n%-30s %8s %8s %8s %8s\n",
              static_cast<double>(both) / kMillisecond, static_cast<double>(one) / kMillisecond, "ms beyond, lost is",
              "least", "median", "9 of 10", "most");
  bool good = true;
  for (const Loss& loss : kLosses) good = measure(loss, count, both, one) && good;
  return good ? 0 : 1;
}
