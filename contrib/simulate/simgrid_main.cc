// SPDX-License-Identifier: BSD-3-Clause
/// Cross-check: how long the same traffic takes here and in SimGrid, whose networks are flows that share links, without
/// packets.
///
///   nezha_simgrid FILE [NAME=VALUE...]   with one accelerator a node; prints "took", microseconds here, microseconds
///   there
///
/// SimGrid's platform is a star with links of the rates at which this cluster's pass payload, towards a node that of
/// its NIC's splitting. A message's latency there is what one of a byte takes here.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

#include "cluster.h"
#include "traffic.h"

namespace {

namespace s4u = simgrid::s4u;
using nezha_simulate::Cluster;
using nezha_simulate::Setting;
using nezha_simulate::Time;
using nezha_simulate::Traffic;

double seconds(Time time) { return static_cast<double>(time) * 1e-12; }

/// Bytes of payload a second.
double outwards(const Setting& setting) {
  const double share = static_cast<double>(setting.inter_payload) / (setting.inter_payload + setting.inter_header);
  const double inside = static_cast<double>(setting.inter_payload) / setting.wire_bytes();
  return 1e9 / 8 * std::min(setting.node_gbps * share, setting.accelerator_gbps * inside);
}

double inwards(const Setting& setting) {
  const double splitting =
      setting.conversion_ns > 0 ? setting.intra_payload / setting.conversion_ns * 1e9 : outwards(setting);
  return std::min(outwards(setting), splitting);
}

double latency(const Setting& setting) {
  std::istringstream text("nezha-traffic 1\nranks 2\n0 1 1\n");
  Traffic one;
  one.read(text);
  return seconds(Cluster(setting, one).replay());
}

std::vector<s4u::Host*> make_hosts(const Setting& setting, int ranks) {
  s4u::NetZone* star = s4u::create_star_zone("star");
  std::vector<s4u::Host*> hosts;
  const double half = latency(setting) / 2;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string name = std::to_string(rank);
    s4u::Host* host = star->create_host(name, 1e9)->seal();
    const s4u::Link* out = star->create_link("out" + name, outwards(setting))->set_latency(half)->seal();
    const s4u::Link* in = star->create_link("in" + name, inwards(setting))->set_latency(half)->seal();
    star->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(out)}, false);
    star->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(in)}, false);
    hosts.push_back(host);
  }
  star->seal();
  return hosts;
}

/// What one rank does: it sends what waits for nothing, and with each message that comes what has waited for that.
class Rank {
 public:
  Rank(const Traffic& traffic, int rank) : traffic_(traffic), rank_(rank), missing_(traffic.messages.size()) {}

  void operator()() {
    std::vector<std::vector<std::int32_t>> waiting(traffic_.messages.size());
    std::vector<s4u::CommPtr> coming;
    std::vector<std::int32_t> numbers;
    std::vector<void*> got(traffic_.messages.size());
    for (std::size_t number = 0; number < traffic_.messages.size(); ++number) {
      const Traffic::Message& message = traffic_.messages[number];
      if (message.to == rank_) {
        coming.push_back(mailbox(static_cast<std::int32_t>(number))->get_async(&got[number]));
        numbers.push_back(static_cast<std::int32_t>(number));
      }
      if (message.from != rank_) continue;
      missing_[number] = message.after.size();
      for (const std::int32_t other : message.after)
        waiting[static_cast<std::size_t>(other)].push_back(static_cast<std::int32_t>(number));
      if (message.after.empty()) send(static_cast<std::int32_t>(number));
    }
    while (!coming.empty()) {
      const ssize_t which = s4u::Comm::wait_any(coming);
      const std::int32_t came = numbers[static_cast<std::size_t>(which)];
      coming.erase(coming.begin() + which);
      numbers.erase(numbers.begin() + which);
      for (const std::int32_t number : waiting[static_cast<std::size_t>(came)])
        if (--missing_[static_cast<std::size_t>(number)] == 0) send(number);
    }
  }

 private:
  static s4u::Mailbox* mailbox(std::int32_t number) { return s4u::Mailbox::by_name(std::to_string(number)); }
  void send(std::int32_t number) {
    static int nothing;
    const std::int64_t bytes = traffic_.messages[static_cast<std::size_t>(number)].bytes;
    mailbox(number)->put_init(&nothing, static_cast<std::uint64_t>(bytes))->detach();
  }

  const Traffic& traffic_;
  const int rank_;
  std::vector<std::size_t> missing_;
};

double in_simgrid(const Setting& setting, const Traffic& traffic) {
  const std::vector<s4u::Host*> hosts = make_hosts(setting, traffic.ranks);
  for (int rank = 0; rank < traffic.ranks; ++rank)
    s4u::Actor::create("rank", hosts[static_cast<std::size_t>(rank)], Rank(traffic, rank));
  s4u::Engine::get_instance()->run();
  return s4u::Engine::get_clock();
}

int wrong(const std::string& why) {
  std::fprintf(stderr, "nezha_simgrid: %s\n", why.c_str());
  return 2;
}

}  // namespace

int main(int count, char** words) {
  s4u::Engine engine(&count, words);
  for (const char* option : {"network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1",
                             "network/weight-S:0", "network/crosstraffic:0", "network/TCP-gamma:0"})
    s4u::Engine::set_config(option);
  if (count < 2) return wrong("FILE [NAME=VALUE...] is allowed");
  std::ifstream file(words[1]);
  Traffic traffic;
  if (!file) return wrong(std::string(words[1]) + " cannot be read");
  if (const std::string why = traffic.read(file); !why.empty()) return wrong(words[1] + (": " + why));
  Setting setting;
  setting.nodes = traffic.ranks;
  setting.accelerators = 1;
  for (int number = 2; number < count; ++number) {
    const std::string word = words[number];
    const std::string name = word.substr(0, word.find('='));
    if (const std::string why = set(setting, name, word.substr(std::min(word.size(), name.size() + 1))); !why.empty())
      return wrong(why);
  }
  const double ours = seconds(Cluster(setting, traffic).replay());
  std::printf("took\t%.6g\t%.6g\n", 1e6 * ours, 1e6 * in_simgrid(setting, traffic));
  return EXIT_SUCCESS;
}
