// SPDX-License-Identifier: BSD-3-Clause
#include "faults.h"

#include <algorithm>

#include "world.h"

namespace nezha::test {
namespace {

constexpr const char* kWays[] = {" both ways", " on the way out", " on the way in"};

const char* text_of(Way way) { return kWays[static_cast<int>(way)]; }

std::string of(int rank) { return " of rank " + std::to_string(rank); }

std::string rail_of(int rank, std::size_t port) { return "rail " + std::to_string(port) + of(rank); }

std::string lasting(Nanoseconds time) { return " for " + std::to_string(time / kMicrosecond) + " us"; }

}  // namespace

SimPort& Faults::port(int rank, std::size_t index) const { return *world_.ports(rank)[index]; }

/// The transport tells lanes and process; that of a dead process cannot.
void Faults::set_up(int rank, std::size_t port, bool up) {
  if (world_.process(rank).alive() && !this->port(rank, port).options().queues)
    world_.process(rank).transport().set_up(port, up);
  else
    this->port(rank, port).set_up(up);
}

std::string Faults::outage(int rank, std::size_t port, Nanoseconds time) {
  set_up(rank, port, false);
  world_.network().after(time, [this, rank, port] { set_up(rank, port, true); });
  return "outage of " + rail_of(rank, port) + lasting(time);
}

std::string Faults::isolation(int rank, Nanoseconds time) {
  for (std::size_t i = 0; i < world_.ports(rank).size(); ++i) outage(rank, i, time);
  return "outage of all rails" + of(rank) + lasting(time);
}

void Faults::set_silent(int rank, std::size_t port, Way way, bool silent) {
  if (way != Way::in) this->port(rank, port).set_mute(silent);
  if (way != Way::out) this->port(rank, port).set_deaf(silent);
}

std::string Faults::silence(int rank, std::size_t port, Way way, Nanoseconds time) {
  set_silent(rank, port, way, true);
  world_.network().after(time, [this, rank, port, way] { set_silent(rank, port, way, false); });
  return "silence on " + rail_of(rank, port) + text_of(way) + lasting(time);
}

void Faults::block(int from, int to, std::size_t port, Way way, bool blocked) {
  const std::vector<SimPort*> here = world_.ports(from);
  const std::vector<SimPort*> there = world_.ports(to);
  if (port >= here.size() || port >= there.size()) return;
  if (way != Way::in) world_.network().block(*here[port], *there[port], blocked);
  if (way != Way::out) world_.network().block(*there[port], *here[port], blocked);
}

std::string Faults::silence_between(int from, int to, std::size_t port, Way way, Nanoseconds time) {
  block(from, to, port, way, true);
  world_.network().after(time, [this, from, to, port, way] { block(from, to, port, way, false); });
  return "silence between " + rail_of(from, port) + " and rank " + std::to_string(to) + text_of(way) + lasting(time);
}

std::string Faults::split(const std::vector<bool>& group, Nanoseconds time) {
  const auto all = [this, group](bool blocked) {
    const int ranks = static_cast<int>(group.size());
    for (int a = 0; a < ranks; ++a)
      for (int b = 0; b < a; ++b)
        for (std::size_t port = 0; port < kMaxRails; ++port)
          if (group[static_cast<std::size_t>(a)] != group[static_cast<std::size_t>(b)])
            block(a, b, port, Way::both, blocked);
  };
  all(true);
  world_.network().after(time, [all] { all(false); });
  return "the network falls into two" + lasting(time);
}

std::string Faults::recreation(int rank, std::size_t port, Nanoseconds time) {
  SimPort& gone = this->port(rank, port);
  if (gone.options().queues) {
    world_.process(rank).queues()->forget_pairs(gone);
  } else {
    SimTransport& transport = world_.process(rank).transport();
    transport.cut_lanes(port);
    for (std::size_t i = 0; i < transport.lanes(); ++i)
      if (transport.on(i, port)) transport.break_lane(i, false, 0);
  }
  gone.set_up(false);
  world_.network().after(time, [this, rank, port] { set_up(rank, port, true); });
  return rail_of(rank, port) + " is deleted and made again after " + std::to_string(time / kMicrosecond) + " us";
}

std::string Faults::break_lane(int rank, std::size_t lane, bool linger, Nanoseconds slower) {
  world_.process(rank).transport().break_lane(lane, linger, slower);
  return "a lane" + of(rank) + " breaks" + (linger ? ", its kernel goes on" : "");
}

std::string Faults::break_pair(int rank, std::size_t pair) {
  world_.process(rank).queues()->break_pair(pair);
  return "an RDMA connection" + of(rank) + " breaks";
}

std::string Faults::rate(int rank, std::size_t port, double rate) {
  this->port(rank, port).set_rate(rate);
  return "rate of " + rail_of(rank, port) + " is " + std::to_string(rate);
}

std::string Faults::crawl(int rank, std::size_t port, double rate, Nanoseconds time) {
  SimPort& slow = this->port(rank, port);
  if (!crawling_.insert(&slow).second) return "none";
  const double before = slow.options().rate;
  slow.set_rate(std::min(before, rate));
  world_.network().after(time, [this, &slow, before] {
    crawling_.erase(&slow);
    slow.set_rate(before);
  });
  return rail_of(rank, port) + " crawls" + lasting(time);
}

std::string Faults::pause(int rank, Nanoseconds time) {
  world_.process(rank).pause(world_.network().now() + time);
  return "pause" + of(rank) + lasting(time);
}

std::string Faults::jump(int rank, Nanoseconds by) {
  world_.process(rank).jump(by);
  return "the clock" + of(rank) + " jumps by " + std::to_string(by / kMicrosecond) + " us";
}

std::string Faults::death(int rank, bool silently) {
  for (SimPort* port : world_.ports(rank))
    if (silently) port->destroy();
  world_.kill(rank);
  return "death" + of(rank) + (silently ? " and of its node" : "");
}

std::string Faults::death_of_node(int rank) {
  const std::vector<std::string>& nodes = world_.setting().nodes;
  for (int other = 0; other < world_.setting().shape.ranks; ++other)
    if (nodes[static_cast<std::size_t>(other)] == nodes[static_cast<std::size_t>(rank)] && world_.process(other).alive())
      death(other, true);
  return "death of the node" + of(rank);
}

std::string Faults::stop(int rank) {
  world_.stop(rank);
  return "stop" + of(rank) + " for good";
}

void Faults::heal() {
  for (int rank = 0; rank < world_.setting().shape.ranks; ++rank) {
    if (!world_.process(rank).alive()) continue;
    for (std::size_t i = 0; i < world_.ports(rank).size(); ++i) {
      set_up(rank, i, true);
      set_silent(rank, i, Way::both, false);
    }
  }
  for (int rank = 0; rank < world_.setting().shape.ranks; ++rank)
    if (world_.process(rank).alive()) world_.process(rank).transport().reset_cut_lanes();
  world_.network().unblock();
}

}  // namespace nezha::test
