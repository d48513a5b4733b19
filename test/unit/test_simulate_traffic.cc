// SPDX-License-Identifier: BSD-3-Clause
/// Traffic that nezha simulate replays: its text, what waits for what, and that of the engine's own algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "contrib/simulate/cluster.h"
#include "contrib/simulate/recorder.h"
#include "contrib/simulate/traffic.h"

namespace nezha_simulate {
namespace {

std::string complaint_of(const std::string& text) {
  std::istringstream stream(text);
  return Traffic().read(stream);
}

Traffic traffic_of(const std::string& text) {
  std::istringstream stream(text);
  Traffic traffic;
  EXPECT_EQ(traffic.read(stream), "");
  return traffic;
}

TEST(SimulateTraffic, IsRead) {
  const Traffic traffic =
      traffic_of("# of a test\nnezha-traffic 1\n\nranks 3 # few\n0 1 100\n1 2 7 1\n2 0 9 2\n0 1 1 3\n");
  ASSERT_EQ(traffic.ranks, 3);
  ASSERT_EQ(traffic.messages.size(), 4u);
  EXPECT_EQ(traffic.messages[1].from, 1);
  EXPECT_EQ(traffic.messages[1].to, 2);
  EXPECT_EQ(traffic.messages[1].bytes, 7);
  EXPECT_EQ(traffic.messages[3].after, std::vector<std::int32_t>{2});
}

TEST(SimulateTraffic, SaysWhatIsAllowed) {
  const std::string head = "nezha-traffic 1\nranks 3\n0 1 5\n";
  EXPECT_EQ(complaint_of(""), "there is no message");
  EXPECT_EQ(complaint_of("nezha-traffic 2\n"), "line 1: 'nezha-traffic 1' is allowed");
  EXPECT_EQ(complaint_of("nezha-traffic 1\nranks 1\n"), "line 2: 'ranks N' is allowed, N from 2 to 131072");
  EXPECT_EQ(complaint_of(head + "0 3 5\n"), "line 4: rank 3: 0 to 2 is allowed");
  EXPECT_EQ(complaint_of(head + "1 1 5\n"), "line 4: a message from rank 1 to itself");
  EXPECT_EQ(complaint_of(head + "0 1\n"),
            "line 4: 'FROM TO BYTES' is allowed, and the numbers of messages to wait for");
  EXPECT_EQ(complaint_of(head + "0 1 0\n"), "line 4: 0 bytes: 1 to 1099511627776 is allowed");
  EXPECT_EQ(complaint_of(head + "1 2 5 2\n"), "line 4: to wait for: numbers from 1 to 1 are allowed");
  EXPECT_EQ(complaint_of(head + "1 2 5 x\n"), "line 4: to wait for: numbers from 1 to 1 are allowed");
  EXPECT_EQ(complaint_of(head + "2 0 5 1\n"), "line 4: message 1 does not go to rank 2");
}

Setting few_nodes(int nodes, int accelerators) {
  Setting setting;
  setting.nodes = nodes;
  setting.accelerators = accelerators;
  return setting;
}

Time took(const Setting& setting, const Traffic& traffic) {
  Cluster cluster(setting, traffic);
  const Time time = cluster.replay();
  EXPECT_TRUE(cluster.drains());
  return time;
}

/// Messages that wait for each other take as long as all of them together, others as long as one.
TEST(SimulateTraffic, WaitsForWhatItNeeds) {
  const Setting setting = few_nodes(1, 4);
  const Time one = took(setting, traffic_of("nezha-traffic 1\nranks 4\n0 1 100000\n"));
  EXPECT_NEAR(static_cast<double>(one), 100000 * 148 / 128.0 * 8 / 512 * kNanosecond, 10 * kNanosecond);
  EXPECT_EQ(took(setting, traffic_of("nezha-traffic 1\nranks 4\n0 1 100000\n1 2 100000 1\n2 3 100000 2\n")), 3 * one);
  EXPECT_EQ(took(setting, traffic_of("nezha-traffic 1\nranks 4\n0 1 100000\n1 2 100000\n2 3 100000\n")), one);
  const Time after_both = took(setting, traffic_of("nezha-traffic 1\nranks 4\n0 1 100000\n2 1 1\n1 3 100000 1 2\n"));
  EXPECT_NEAR(static_cast<double>(after_both), 2 * static_cast<double>(one), kNanosecond);
}

TEST(SimulateTraffic, NicsOfTheReceiversLimit) {
  const Time one = took(few_nodes(2, 2), traffic_of("nezha-traffic 1\nranks 4\n0 2 1000000\n"));
  EXPECT_NEAR(static_cast<double>(one), 1e6 / 128 * PcieLink{}.tlp_time() * kNanosecond, 1000 * kNanosecond);
  const Time both = took(few_nodes(2, 2), traffic_of("nezha-traffic 1\nranks 4\n0 2 1000000\n1 3 1000000\n"));
  EXPECT_NEAR(static_cast<double>(both) / static_cast<double>(one), 2, 0.01);
}

Traffic recorded(nezha::AlgorithmChoice algorithm, int ranks, std::size_t bytes) {
  std::stringstream text;
  EXPECT_EQ(Recorder(ranks).record(algorithm, bytes, text), "");
  Traffic traffic;
  EXPECT_EQ(traffic.read(text), "");
  return traffic;
}

/// The longest row of messages each of which waits for the one before it.
int depth(const Traffic& traffic) {
  std::vector<int> depths;
  for (const Traffic::Message& message : traffic.messages) {
    int before = 0;
    for (const std::int32_t other : message.after) before = std::max(before, depths[static_cast<std::size_t>(other)]);
    depths.push_back(before + 1);
  }
  return *std::max_element(depths.begin(), depths.end());
}

std::int64_t sent(const Traffic& traffic) {
  std::int64_t bytes = 0;
  for (const Traffic::Message& message : traffic.messages) bytes += message.bytes;
  return bytes;
}

int up_to_power(int ranks) { return static_cast<int>(std::ceil(std::log2(ranks))); }

class RecordedTraffic : public testing::TestWithParam<int> {};

/// As many steps, one after the other, and bytes as the algorithms have.
TEST_P(RecordedTraffic, HasTheStepsOfItsAlgorithm) {
  using enum nezha::AlgorithmChoice;
  const int ranks = GetParam();
  for (const std::size_t bytes : {std::size_t{10080}, std::size_t{1008000}}) {
    const auto vector = static_cast<std::int64_t>(bytes);
    const Traffic in_ring = recorded(ring, ranks, bytes), in_mesh = recorded(mesh, ranks, bytes),
                  halved = recorded(halving, ranks, bytes), doubled = recorded(doubling, ranks, bytes),
                  single = recorded(single_step, ranks, bytes);
    EXPECT_EQ(depth(in_ring), 2 * ranks - 2);
    EXPECT_EQ(depth(in_mesh), 2);
    EXPECT_LE(depth(halved), 2 * up_to_power(ranks));
    EXPECT_EQ(depth(single), 1);
    EXPECT_EQ(sent(in_ring), 2 * (ranks - 1) * vector);
    EXPECT_EQ(sent(in_mesh), 2 * (ranks - 1) * vector);
    EXPECT_EQ(sent(halved), 2 * (ranks - 1) * vector);
    EXPECT_EQ(sent(single), ranks * (ranks - 1) * vector);
    if ((ranks & (ranks - 1)) != 0) continue;
    EXPECT_EQ(depth(halved), 2 * up_to_power(ranks));
    EXPECT_EQ(depth(doubled), up_to_power(ranks));
    EXPECT_EQ(sent(doubled), ranks * up_to_power(ranks) * vector);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RecordedTraffic, testing::Values(2, 3, 4, 7, 8));

/// A ring on nodes of one rank each is bound by the NICs: 2 (N - 1) / N of the vector through each.
TEST(RecordedTraffic, ARingTakesWhatItsNicsNeed) {
  constexpr std::size_t kBytes = 1 << 20;
  const Time time = took(few_nodes(8, 1), recorded(nezha::AlgorithmChoice::ring, 8, kBytes));
  const double least = 2 * 7 / 8.0 * kBytes / 128 * PcieLink{}.tlp_time() * kNanosecond;
  EXPECT_GT(static_cast<double>(time), least);
  EXPECT_LT(static_cast<double>(time), 1.05 * least);
}

}  // namespace
}  // namespace nezha_simulate
