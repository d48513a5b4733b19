/* SPDX-License-Identifier: BSD-3-Clause */
/// Switches and what stands at the ends of links, and which way a packet takes through them.
#pragma once

#include <cstdint>

namespace nezha_simulate {

enum class DeviceKind : std::uint8_t {
  switch_inside,  ///< ports 0 to N-1: the node's accelerators, port N: its NIC
  leaf,           ///< of a fat tree: ports 0 to K/2-1 down to nodes, then K/2 up
  spine,          ///< of a fat tree: port P goes to leaf P
  endpoint,       ///< takes what arrives and queues what is to be sent; one input and one output
};

struct Device {
  DeviceKind kind;
  std::int16_t ports;
  std::int16_t number;   ///< of a switch inside a node: the node's; of a leaf or spine: its place
  std::int16_t breadth;  ///< accelerators of a node, or nodes of a leaf
  std::int32_t outputs;  ///< the link of output 0, which those of the other outputs follow
  std::int32_t inputs;   ///< input 0 in the table of links that lead to inputs
  std::int32_t queues;   ///< queue (input, output) is at input * ports + output from here
};

/// The output for a packet to an accelerator of a node. Between nodes it is D-mod-K: the spine is the node's place in
/// its leaf, so that each link downwards serves one node.
inline int output_to(const Device& device, int node, int accelerator) {
  switch (device.kind) {
    case DeviceKind::switch_inside:
      return node == device.number ? accelerator : device.breadth;
    case DeviceKind::leaf:
      return node / device.breadth == device.number ? node % device.breadth : device.breadth + node % device.breadth;
    case DeviceKind::spine:
      return node / device.breadth;
    case DeviceKind::endpoint:
      break;
  }
  return 0;
}

/// Ports of a switch of the smallest fat tree of two levels (RLFT) that has room for so many nodes: of leaves it takes
/// as many, with half as many nodes each, and of spines half as many.
inline int fat_tree_ports(int nodes) {
  int ports = 2;
  while (ports * ports / 2 < nodes) ports += 2;
  return ports;
}

}  // namespace nezha_simulate
