// SPDX-License-Identifier: BSD-3-Clause
/// The devices and links of a cluster.
#include <algorithm>
#include <cmath>

#include "cluster.h"

namespace nezha_simulate {

Cluster::Cluster(const Setting& setting, const Traffic* traffic)
    : Fabric(setting.arbiter, setting.matched),
      setting_(setting),
      devices_of_node_(setting.accelerators + 3),
      outwards_(setting.accelerators + 1),
      inwards_(setting.accelerators + 2),
      traffic_(traffic),
      most_waiting_(static_cast<std::int32_t>(std::max<std::int64_t>(1, setting.source_queue / setting.wire_bytes()))) {
  for (int node = 0; node < setting_.nodes; ++node) build_node(node);
  build_tree();
  sources_.resize(static_cast<std::size_t>(setting_.nodes) * static_cast<std::size_t>(setting_.accelerators));
}

void Cluster::build_node(int node) {
  const int accelerators = setting_.accelerators;
  const double gbps = setting_.accelerator_gbps;
  const std::int32_t middle = add_device(DeviceKind::switch_inside, accelerators + 1, node, accelerators);
  for (int endpoint = 1; endpoint < devices_of_node_; ++endpoint) add_device(DeviceKind::endpoint, 1, 0, 0);
  const LinkMake into_switch{gbps, 0, setting_.buffer, setting_.intra_header, gbps};
  const LinkMake to_accelerator{gbps, 0, 0, 0, gbps}, to_nic{gbps, 0, setting_.buffer, 0, gbps};
  for (int accelerator = 0; accelerator < accelerators; ++accelerator) {
    connect(middle + 1 + accelerator, 0, middle, accelerator, into_switch);
    connect(middle, accelerator, middle + 1 + accelerator, 0, to_accelerator);
  }
  connect(middle, accelerators, middle + outwards_, 0, to_nic);
  LinkMake splitting = into_switch;
  if (setting_.packets_of_message() > 1 && setting_.conversion_ns > 0)
    splitting.gbps = std::min(gbps, (setting_.intra_payload + setting_.intra_header) * 8 / setting_.conversion_ns);
  connect(middle + inwards_, 0, middle, accelerators, splitting);
}

void Cluster::build_tree() {
  const int ports = fat_tree_ports(setting_.nodes), half = ports / 2;
  const double gbps = setting_.node_gbps;
  const Time flight = std::llround(setting_.meters * setting_.ns_per_meter * kNanosecond);
  const LinkMake make{gbps, flight, setting_.buffer, setting_.inter_header, gbps};
  const int leaves = (setting_.nodes + half - 1) / half;
  const std::int32_t first_leaf = device(setting_.nodes, 0), first_spine = first_leaf + leaves;
  for (int leaf = 0; leaf < leaves; ++leaf) add_device(DeviceKind::leaf, ports, leaf, half);
  for (int spine = 0; spine < half; ++spine) add_device(DeviceKind::spine, ports, spine, half);
  for (int node = 0; node < setting_.nodes; ++node) {
    connect(device(node, outwards_), 0, first_leaf + node / half, node % half, make);
    connect(first_leaf + node / half, node % half, device(node, inwards_), 0, make);
  }
  for (int leaf = 0; leaf < leaves; ++leaf) {
    for (int spine = 0; spine < half; ++spine) {
      connect(first_leaf + leaf, half + spine, first_spine + spine, leaf, make);
      connect(first_spine + spine, leaf, first_leaf + leaf, half + spine, make);
    }
  }
}

/// Accelerators generate at regular intervals, each from a moment of its own on.
void Cluster::start_sources() {
  interval_ = std::llround(setting_.wire_bytes() * 8000 / setting_.accelerator_gbps * 100 / setting_.load_percent);
  Random seeds(setting_.seed);
  for (std::size_t number = 0; number < sources_.size(); ++number) {
    Source& source = sources_[number];
    source.random = Random(seeds.next());
    source.due = 1 + static_cast<Time>(source.random.next() % static_cast<std::uint64_t>(interval_));
    call_at(source.due, static_cast<std::int32_t>(number));
  }
}

}  // namespace nezha_simulate
