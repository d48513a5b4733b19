// SPDX-License-Identifier: BSD-3-Clause
/// Random faults of a simulated world. They are drawn from a generator of their own, and can be told to stop after so
/// many, so that a failing world can be made shorter.
#pragma once

#include <cstddef>
#include <string>

#include "faults.h"
#include "rail/sim/random.h"
#include "util/clock.h"

namespace nezha::test {

class World;

class Storms {
 public:
  /// Not more than `most` faults happen.
  Storms(World& world, std::uint64_t seed, std::size_t most) : world_(world), random_(seed), most_(most) {}

  void begin();
  /// The program is over: a few more connections break while the last acks are on their way, then all is well for good.
  void end();
  std::size_t happened() const { return happened_; }
  /// A frame without pieces has been handed over: an ack that nothing else carries. Some are lost with their lane.
  void ack_sent(int from, int to);

 private:
  /// One kind: makes it happen, and says what it was.
  using Kind = std::string (Storms::*)();

  void schedule(Nanoseconds mean, Kind kind);
  void happen(Kind kind);
  void tell(const std::string& what) const;
  bool stormy() const;
  void break_under_way(int from, int to);
  std::string outage();
  std::string isolation();
  std::string silence();
  std::string silence_between();
  std::string split();
  std::string recreation();
  std::string break_lane();
  std::string break_pair();
  std::string rate();
  std::string crawl();
  std::string pause();
  std::string jump();
  std::string death();
  int any_rank();
  std::size_t any_port(int rank);
  Way any_way();
  Nanoseconds upto(Nanoseconds longest) { return random_.between(1, longest); }

  World& world_;
  SimRandom random_;
  const std::size_t most_;
  std::size_t happened_ = 0;
  bool over_ = false;
  std::size_t last_acks_ = 0;        ///< how many more may be lost when the program is over
  Nanoseconds next_long_pause_ = 0;  ///< not before: nothing would go on if one followed the other
};

}  // namespace nezha::test
