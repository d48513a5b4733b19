// SPDX-License-Identifier: BSD-3-Clause
/// What one simulated world is like: everything about it that is drawn from its seed before it begins to run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program.h"
#include "rail/message/options.h"
#include "rail/sim/network.h"
#include "rail/sim/port.h"
#include "rail/sim/queue_pair.h"
#include "sharing.h"
#include "util/rail_set.h"

namespace nezha::test {

/// Mean times between faults of each kind (0 = none), and how long they last at most.
struct FaultRates {
  Nanoseconds outage = 0;     ///< a port goes down
  Nanoseconds isolation = 0;  ///< all ports of a process go down
  Nanoseconds split = 0;      ///< the network falls into two
  Nanoseconds recreation = 0; ///< a port is deleted and made again
  Nanoseconds longest_outage = 0;  ///< of these four
  Nanoseconds silence = 0;          ///< frames vanish at a port, one way or both
  Nanoseconds silence_between = 0;  ///< the same between two processes
  Nanoseconds longest_silence = 0;
  Nanoseconds break_lane = 0;
  Nanoseconds longest_linger = 0;  ///< what a broken end's kernel still has takes up to this much longer
  Nanoseconds rate = 0;       ///< a port becomes slower or faster
  Nanoseconds crawl = 0;      ///< a port hardly moves for a while
  Nanoseconds pause = 0;      ///< a process stands still
  Nanoseconds longest_pause = 0;
  Nanoseconds jump = 0;       ///< a process's clock jumps
  Nanoseconds longest_jump = 0;
  Nanoseconds death = 0;      ///< not a mean: when a process dies
  bool stop = false;          ///< instead it stands still for good, or its whole node dies
  bool lost_acks = false;     ///< lanes break while acks travel
};

struct Setting {
  /// As it comes: all networks, clocks and processes without faults. For who fills in the rest.
  Setting() : seed(0), random(0) {}
  /// A random one. `nodes`: one whose nodes have several ranks, which share memory; `rdma`: one with networks for RDMA.
  Setting(std::uint64_t seed, std::size_t calls, bool nodes = false, bool rdma = false);

  std::uint64_t seed;
  SimRandom random;  ///< for what is drawn while the world runs
  ProgramShape shape;
  SimOptions network;
  std::vector<std::vector<SimPortOptions>> ports;  ///< by rank
  std::vector<std::string> nodes;                  ///< by rank
  std::vector<std::vector<SimPortOptions>> services;  ///< ports of each aggregation service
  std::vector<int> upstream_of;                       ///< by service: the one that joins it to a tree; -1: it is in none
  std::vector<std::vector<std::size_t>> aggregators;  ///< by place in the parameter and by rank: the service
  bool loopbacks = false;                          ///< nodes have one
  Config config;                                   ///< alike on all ranks
  std::vector<std::size_t> windows;                ///< early bytes, by rank
  std::vector<int> mesh_peers;                     ///< by rank; empty: as `config` has it
  std::vector<Nanoseconds> clocks;                 ///< what each process's clock shows beyond the network's
  std::vector<std::vector<Nanoseconds>> late;      ///< by rank and port: when it has a carrier for the first time
  SimQueueOptions queues;                          ///< of ports that are for RDMA; these are each rank's last ones
  MessageOptions messages;                         ///< of lanes through them
  Sharing sharing;
  FaultRates faults;
  RailSet rails = 0;               ///< of rank 0, to which the calls of every second team keep; 0 = all
  OpNumber operations_before = 0;   ///< which every team counts as over
  Nanoseconds longest_thought = 0;  ///< between two calls of a thread
  int thinker = -1;                 ///< the only rank that thinks; -1: all do
  bool may_fail = false;            ///< calls may, although all ranks live

  /// Has aggregation services too, and calls that use them.
  void add_services(bool shares);
  /// A rail, or a process, may be missing for longer than a team waits for it.
  bool may_decline() const;
  /// Some rails are for RDMA.
  bool has_queues() const;
  /// The rails that a rank says it is near. By its number, so that worlds of older seeds keep their shapes.
  RailSet near(int rank) const { return static_cast<RailSet>((seed + 7 * static_cast<std::uint64_t>(rank) / 3) % 4); }
  std::string text() const;

 private:
  void draw_network();
  void draw_lateness();
  void draw_config();
  void draw_faults();
  void draw_rails();
  void draw_links();
  void draw_crowd();
  void draw_operations();
  void draw_queues(bool wanted);
  std::size_t add_service(SimRandom& source, int upstream);
  void draw_aggregators(SimRandom& source);
  void draw_shared_nodes(SimRandom& source);
};

}  // namespace nezha::test
