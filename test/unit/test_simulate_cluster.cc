// SPDX-License-Identifier: BSD-3-Clause
/// Clusters that nezha simulate simulates: latencies that can be worked out by hand, what may never be lost, and
/// repetition.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "contrib/simulate/cluster.h"
#include "contrib/simulate/sweep.h"
#include "slowed_down.h"

namespace nezha_simulate {
namespace {

/// Eight nodes of four accelerators, of which nobody is in anybody's way.
Setting idle() {
  Setting setting;
  setting.nodes = 8;
  setting.accelerators = 4;
  setting.load_percent = 0.05;
  setting.inter_percent = 100;
  setting.train = 32;
  setting.warm_up = 0;
  setting.measured = 1000 * kMicrosecond;
  return setting;
}

Setting busy() {
  Setting setting;
  setting.nodes = 8;
  setting.accelerators = 4;
  setting.train = 4;
  setting.warm_up = 10 * kMicrosecond;
  setting.measured = 40 * kMicrosecond;
  return setting;
}

Measured run(const Setting& setting) { return Cluster(setting).run(); }

/// A message is 4672 bytes inside a node, 4096 between nodes, where it passes four links or, in its own leaf, two.
TEST(SimulateCluster, LatencyOfALoneMessage) {
  const Measured found = run(idle());
  const double inside = 4672 * 8 / 512.0, header = 20 * 8 / 512.0, splitting = 32 * PcieLink{}.tlp_time();
  EXPECT_NEAR(found.inter_parts_us[source_accelerator], 0, 1e-9);
  EXPECT_NEAR(1000 * found.inter_parts_us[source_network], header + inside, 0.1);
  EXPECT_NEAR(found.inter_parts_us[source_nic], 0, 1e-9);
  const double wire = 4096 * 8 / 400.0, hop = 25 + 64 * 8 / 400.0;
  EXPECT_GT(1000 * found.inter_parts_us[between_nodes], wire + 25 + hop);
  EXPECT_LT(1000 * found.inter_parts_us[between_nodes], wire + 25 + 3 * hop + 0.1);
  EXPECT_NEAR(found.inter_parts_us[far_nic], 0, 1e-9);
  EXPECT_NEAR(1000 * found.inter_parts_us[far_network], splitting * 4672 / (32 * 148), 1.0);
}

TEST(SimulateCluster, CutThroughInsideANode) {
  Setting setting = idle();
  setting.inter_percent = 0;
  EXPECT_NEAR(1000 * run(setting).intra_latency_us, 20 * 8 / 512.0 + 4672 * 8 / 512.0, 0.2);
}

TEST(SimulateCluster, DeliversWhatIsGenerated) {
  Setting setting = busy();
  setting.load_percent = 20;
  const double most = 8 * 4 * 512.0;
  const Measured found = run(setting);
  EXPECT_NEAR(found.gbps(), 0.2 * most, 0.01 * most);
  EXPECT_NEAR(found.inter_gbps() / found.gbps(), 0.2, 0.02);
}

/// The NIC splits 126 Gbit/s, whatever else there is.
TEST(SimulateCluster, SplittingLimits) {
  const Measured found = run(busy());
  EXPECT_NEAR(found.inter_gbps() / 8, 148 * 8 / PcieLink{}.tlp_time(), 3);
  Setting without = busy();
  without.conversion_ns = 0;
  EXPECT_GT(run(without).inter_gbps() / 8, 250);
}

TEST(SimulateCluster, LosesNothing) {
  for (const double inter : {0.0, 5.0, 50.0, 100.0}) {
    for (const Arbiter arbiter : {Arbiter::round_robin, Arbiter::age}) {
      for (const int nodes : {1, 2, 7, 8}) {
        Setting setting = busy();
        setting.nodes = nodes;
        setting.inter_percent = inter;
        setting.arbiter = arbiter;
        setting.matched = arbiter == Arbiter::age;
        setting.measured = nezha::test::fewer(setting.measured);
        setting.buffer = 4 * setting.wire_bytes();  // the least that is allowed
        Cluster cluster(setting);
        const Measured found = cluster.run();
        EXPECT_GT(found.gbps(), 0) << inter << " % of " << nodes;
        EXPECT_TRUE(cluster.drains()) << inter << " % of " << nodes;
      }
    }
  }
}

/// An input that feeds one output at a time carries less, and no less than two thirds.
TEST(SimulateCluster, MatchedOutputsCarryLess) {
  Setting setting = busy();
  setting.inter_percent = 0;
  const double independent = run(setting).gbps();
  setting.matched = true;
  EXPECT_LT(run(setting).gbps(), 0.99 * independent);
  EXPECT_GT(run(setting).gbps(), 0.67 * independent);
}

/// Of equal demands round robin serves the inputs in turn, and age those that have asked for longest: both serve all
/// alike.
TEST(SimulateCluster, ArbitersCarryTheSame) {
  Setting setting = busy();
  const double in_turn = run(setting).gbps();
  setting.arbiter = Arbiter::age;
  EXPECT_NEAR(run(setting).gbps() / in_turn, 1, 0.02);
}

TEST(SimulateCluster, PartsOfALatencyAreAllOfIt) {
  Setting setting = busy();
  const Measured found = run(setting);
  for (const double part : found.inter_parts_us) EXPECT_GE(part, 0);
  EXPECT_GT(found.longest_us, found.inter_latency_us());
  EXPECT_GT(found.inter_parts_us[source_network], found.inter_parts_us[far_network]);  // the NICs hold everything up
}

/// Packets that move together change what is found a little.
TEST(SimulateCluster, TrainsAreNear) {
  Setting fine = busy(), coarse = busy();
  fine.train = 1;
  coarse.train = 32;
  for (const double load : {10.0, 100.0}) {
    fine.load_percent = coarse.load_percent = load;
    const Measured one = run(fine), many = run(coarse);
    EXPECT_NEAR(many.gbps() / one.gbps(), 1, 0.01) << load;
    EXPECT_NEAR(many.inter_latency_us() / one.inter_latency_us(), 1, 0.05) << load;
  }
}

void expect_same(const Measured& one, const Measured& other) {
  EXPECT_EQ(one.events, other.events);
  EXPECT_EQ(one.intra_bytes, other.intra_bytes);
  EXPECT_EQ(one.inter_bytes, other.inter_bytes);
  EXPECT_EQ(one.inter_parts_us, other.inter_parts_us);
}

TEST(SimulateCluster, RepeatsFromItsSeed) {
  expect_same(run(busy()), run(busy()));
  Setting other = busy();
  other.seed = 2;
  EXPECT_NE(run(other).events, run(busy()).events);
}

TEST(SimulateSweep, FindsTheSameInAnyNumberOfThreads) {
  std::vector<Setting> settings(5, busy());
  for (std::size_t number = 0; number < settings.size(); ++number)
    settings[number].load_percent = 20 * static_cast<double>(number + 1);
  double last = 0;
  const std::vector<Measured> one = sweep(settings, 1), three = sweep(settings, 3, [&](double part) {
                                                          EXPECT_GE(part, last);
                                                          last = part;
                                                        });
  EXPECT_DOUBLE_EQ(last, 1);
  for (std::size_t number = 0; number < settings.size(); ++number) expect_same(one[number], three[number]);
}

}  // namespace
}  // namespace nezha_simulate
