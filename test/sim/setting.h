// SPDX-License-Identifier: BSD-3-Clause
/// What one simulated world is like: everything about it that is drawn from its seed before it begins to run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program.h"
#include "rail/sim/network.h"
#include "rail/sim/port.h"

namespace nezha::test {

/// Mean times between faults of each kind; 0 = none.
struct FaultRates {
  Nanoseconds outage = 0;  ///< a port goes down, for up to `longest_outage`
  Nanoseconds longest_outage = 0;
  Nanoseconds partition = 0;  ///< all ports of a process go down, for up to `longest_outage`
  Nanoseconds break_lane = 0;
  Nanoseconds rate = 0;       ///< a port becomes slower or faster
  Nanoseconds crawl = 0;      ///< a port hardly moves for a while
  Nanoseconds pause = 0;      ///< a process stands still, for up to `longest_pause`
  Nanoseconds longest_pause = 0;
};

struct Setting {
  Setting(std::uint64_t seed, std::size_t calls);

  std::uint64_t seed;
  SimRandom random;  ///< for what is drawn while the world runs
  ProgramShape shape;
  SimOptions network;
  std::vector<std::vector<SimPortOptions>> ports;  ///< by rank
  std::vector<std::string> nodes;                  ///< by rank
  Config config;                                   ///< alike on all ranks
  std::vector<std::size_t> windows;                ///< early bytes, by rank
  FaultRates faults;
  Nanoseconds longest_thought = 0;  ///< between two calls of a thread

  std::string text() const;

 private:
  void draw_network();
  void draw_config();
  void draw_faults();
};

}  // namespace nezha::test
