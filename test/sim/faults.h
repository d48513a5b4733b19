// SPDX-License-Identifier: BSD-3-Clause
/// What can go wrong in a simulated world. Each call makes one fault happen now, lets it end by itself where it can, and
/// says in words what it was.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "util/clock.h"

namespace nezha {
class SimPort;
}

namespace nezha::test {

class World;

/// Which way bytes vanish, seen from a port.
enum class Way { both, out, in };

class Faults {
 public:
  explicit Faults(World& world) : world_(world) {}

  /// A port has no carrier for that long.
  std::string outage(int rank, std::size_t port, Nanoseconds time);
  /// All ports of a process at once.
  std::string isolation(int rank, Nanoseconds time);
  /// Frames vanish at a port, which keeps its carrier.
  std::string silence(int rank, std::size_t port, Way way, Nanoseconds time);
  /// The same between two processes only, on the ports of that index.
  std::string silence_between(int from, int to, std::size_t port, Way way, Nanoseconds time);
  /// The same between two groups of processes, everywhere; `group` says which process belongs to the first.
  std::string split(const std::vector<bool>& group, Nanoseconds time);
  /// A port is deleted with the ends of its lanes, and made again: the other ends are told nothing.
  std::string recreation(int rank, std::size_t port, Nanoseconds time);
  /// `linger`: the kernel sends what it has, up to `slower` later.
  std::string break_lane(int rank, std::size_t lane, bool linger, Nanoseconds slower);
  /// The NIC at one end gives up a connection of the process's RDMA rails.
  std::string break_pair(int rank, std::size_t pair);
  std::string rate(int rank, std::size_t port, double rate);
  /// A port hardly moves for a while: what is half-way through it stays there.
  std::string crawl(int rank, std::size_t port, double rate, Nanoseconds time);
  /// A process stands still; its kernel goes on.
  std::string pause(int rank, Nanoseconds time);
  /// A process's clock is suddenly later.
  std::string jump(int rank, Nanoseconds by);
  /// A process is gone for good. `silently`: with its node, so that nobody says so; else its kernel closes its lanes.
  std::string death(int rank, bool silently);
  /// All ranks of its node are.
  std::string death_of_node(int rank);
  /// A process stands still for good; its kernel goes on, and it is neither gone nor has it left what it shared.
  std::string stop(int rank);

  /// Everything that can be mended is.
  void heal();

 private:
  SimPort& port(int rank, std::size_t index) const;
  void set_up(int rank, std::size_t port, bool up);
  void set_silent(int rank, std::size_t port, Way way, bool silent);
  void block(int from, int to, std::size_t port, Way way, bool blocked);

  World& world_;
  std::set<SimPort*> crawling_;
};

}  // namespace nezha::test
