// SPDX-License-Identifier: BSD-3-Clause
/// What goes wrong in a simulated world, and when. It draws from a generator of its own, and can be told to stop after so
/// many, so that a failing world can be made shorter.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "rail/sim/random.h"
#include "util/clock.h"

namespace nezha {
class SimPort;
}

namespace nezha::test {

class Process;
class World;

class Faults {
 public:
  /// Not more than `most` of them happen.
  Faults(World& world, std::uint64_t seed, std::size_t most) : world_(world), random_(seed), most_(most) {}

  void begin();
  /// The program is over: a few more connections break while the last acks are on their way, then all is well for good.
  void end();
  std::size_t happened() const { return happened_; }

 private:
  /// One kind: makes it happen, and says what it was.
  using Kind = std::string (Faults::*)();

  void schedule(Nanoseconds mean, Kind kind);
  void happen(Kind kind);
  std::string outage();
  std::string partition();
  std::string break_lane();
  std::string rate();
  std::string crawl();
  std::string pause();
  Process& any_process();
  SimPort& any_port();

  World& world_;
  SimRandom random_;
  const std::size_t most_;
  std::size_t happened_ = 0;
  bool over_ = false;
  std::set<SimPort*> crawling_;
  Nanoseconds next_long_pause_ = 0;  ///< not before: nothing would go on if one followed the other
};

}  // namespace nezha::test
