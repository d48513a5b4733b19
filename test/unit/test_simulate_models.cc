// SPDX-License-Identifier: BSD-3-Clause
/// The models of nezha simulate that need no simulation, its event queue, its fat trees and its settings.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "contrib/simulate/device.h"
#include "contrib/simulate/events.h"
#include "contrib/simulate/figures.h"
#include "contrib/simulate/pcie.h"
#include "contrib/simulate/random.h"
#include "contrib/simulate/setting.h"

namespace nezha_simulate {
namespace {

TEST(SimulateModels, PublishedFigures) {
  int outside = 0;
  for (const Figure& figure : model_figures()) {
    if (figure.outside.empty()) {
      EXPECT_TRUE(figure.holds()) << figure.what << ": " << figure.ours << ", published " << figure.paper;
    }
    outside += !figure.holds();
  }
  EXPECT_LE(outside, 2);
}

TEST(SimulateModels, PcieEquations) {
  const PcieLink link;
  EXPECT_NEAR(link.bytes_per_ns(), 15.754, 0.001);
  EXPECT_EQ(link.tlps(1), 1);
  EXPECT_EQ(link.tlps(128), 1);
  EXPECT_EQ(link.tlps(129), 2);
  EXPECT_NEAR(link.latency(4096), 32 * link.tlp_time() + 32 / 3.0 * link.dllp_time(), 1e-9);
  EXPECT_DOUBLE_EQ(traffic_overhead(64, 4032, 64, 4032), 1);
}

TEST(SimulateEvents, ComeInTheOrderOfTime) {
  EventQueue queue;
  Random random(7);
  std::vector<Time> times;
  for (int number = 0; number < 1000; ++number) {
    times.push_back(static_cast<Time>(random.below(300)));
    queue.push(times.back(), 0, number);
  }
  std::sort(times.begin(), times.end());
  for (const Time time : times) {
    EXPECT_EQ(queue.next(), time);
    EXPECT_EQ(queue.pop().when, time);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(SimulateRandom, IsSpreadEvenly) {
  Random random(1);
  std::map<std::uint32_t, int> found;
  int chosen = 0;
  for (int number = 0; number < 70000; ++number) {
    ++found[random.below(7)];
    chosen += random.in_percent(20);
  }
  EXPECT_EQ(found.size(), 7u);
  for (const auto& [value, times] : found) EXPECT_NEAR(times, 10000, 400) << value;
  EXPECT_NEAR(chosen, 14000, 400);
}

/// The paper's trees: nodes, ports of a switch, switches in all.
TEST(SimulateTree, HasThePapersSwitches) {
  for (const auto& [nodes, ports, switches] :
       {std::tuple(32, 8, 12), std::tuple(128, 16, 24), std::tuple(512, 32, 48)}) {
    EXPECT_EQ(fat_tree_ports(nodes), ports);
    EXPECT_EQ(ports + ports / 2, switches);
  }
  EXPECT_EQ(fat_tree_ports(1), 2);
  EXPECT_EQ(fat_tree_ports(33), 10);
}

/// D-mod-K: a link from a spine down to a leaf serves one node, and nodes of a leaf are reached over different spines.
TEST(SimulateTree, EachLinkDownServesOneNode) {
  constexpr int kHalf = 4, kNodes = 32;
  std::map<std::pair<int, int>, std::set<int>> served;  // spine, leaf
  for (int from = 0; from < kNodes; ++from) {
    const Device leaf{DeviceKind::leaf, 2 * kHalf, static_cast<std::int16_t>(from / kHalf), kHalf, 0, 0, 0};
    for (int to = 0; to < kNodes; ++to) {
      const int output = output_to(leaf, to, 0);
      if (to / kHalf == from / kHalf) {
        EXPECT_EQ(output, to % kHalf);
        continue;
      }
      ASSERT_GE(output, kHalf);
      const Device spine{DeviceKind::spine, 2 * kHalf, static_cast<std::int16_t>(output - kHalf), kHalf, 0, 0, 0};
      EXPECT_EQ(output_to(spine, to, 0), to / kHalf);
      served[{output - kHalf, to / kHalf}].insert(to);
    }
  }
  EXPECT_EQ(served.size(), 32u);
  for (const auto& [link, nodes] : served) EXPECT_EQ(nodes.size(), 1u);
}

TEST(SimulateSetting, IsSetByNames) {
  Setting setting;
  EXPECT_EQ(set(setting, "nodes", "512"), "");
  EXPECT_EQ(set(setting, "accelerator_gbps", "62.5"), "");
  EXPECT_EQ(set(setting, "warm_up_us", "2.5"), "");
  EXPECT_EQ(set(setting, "arbiter", "age"), "");
  EXPECT_EQ(set(setting, "outputs", "matched"), "");
  EXPECT_EQ(setting.nodes, 512);
  EXPECT_EQ(setting.accelerator_gbps, 62.5);
  EXPECT_EQ(setting.warm_up, 2500 * kNanosecond);
  EXPECT_EQ(setting.arbiter, Arbiter::age);
  EXPECT_TRUE(setting.matched);
  EXPECT_EQ(complaint(setting), "");
}

TEST(SimulateSetting, SaysWhatIsAllowed) {
  Setting setting;
  EXPECT_EQ(set(setting, "nodes", "0"), "nodes '0': a whole number from 1 to 2048 is allowed");
  EXPECT_EQ(set(setting, "nodes", "2.5"), "nodes '2.5': a whole number from 1 to 2048 is allowed");
  EXPECT_EQ(set(setting, "load_percent", "nan"), "load_percent 'nan': a number from 0.01 to 100 is allowed");
  EXPECT_EQ(set(setting, "seed", "x"), "seed 'x': a whole number from 0 to 9000000000000000 is allowed");
  EXPECT_EQ(set(setting, "arbiter", "fair"), "arbiter 'fair': round-robin or age is allowed");
  EXPECT_EQ(set(setting, "outputs", "any"), "outputs 'any': independent or matched is allowed");
  EXPECT_EQ(set(setting, "node", "1"), "there is no setting 'node'");
  EXPECT_EQ(setting.nodes, 32);
  setting.buffer = 4096;
  EXPECT_EQ(complaint(setting), "buffer '4096': with 8 accelerators 37376 or more is allowed");
  setting.nodes = setting.accelerators = 1;
  EXPECT_EQ(complaint(setting), "nodes and accelerators are both 1: there is nobody to send to");
}

}  // namespace
}  // namespace nezha_simulate
