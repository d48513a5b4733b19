// SPDX-License-Identifier: BSD-3-Clause
/// Which ranks of a node are near which rails, and who of them carries first.
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/near_rails.h"
#include "temporary_folder.h"
#include "util/pci_device.h"

namespace nezha {
namespace {

namespace fs = std::filesystem;
using Order = std::vector<int>;

Order order_of(const std::vector<RailSet>& near) {
  std::vector<NearRank> ranks;
  for (std::size_t i = 0; i < near.size(); ++i) ranks.push_back({10 + static_cast<int>(i), near[i]});
  return carrying_order(ranks);
}

TEST(CarryingOrder, IsTheirOwnWhereNothingTellsThemApart) {
  const Order own{10, 11, 12, 13};
  EXPECT_EQ(order_of({0, 0, 0, 0}), own);
  EXPECT_EQ(order_of({1, 1, 1, 1}), own);
  EXPECT_EQ(order_of({3, 3, 3, 3}), own);
  EXPECT_TRUE(order_of({}).empty());
}

TEST(CarryingOrder, TakesOneNearEachRailInTurn) {
  EXPECT_EQ(order_of({1, 1, 1, 2, 2, 2}), (Order{10, 13, 11, 14, 12, 15}));
  EXPECT_EQ(order_of({2, 2, 1, 1}), (Order{12, 10, 13, 11}));
  EXPECT_EQ(order_of({1, 1, 1, 2}), (Order{10, 13, 11, 12})) << "unequal numbers";
}

TEST(CarryingOrder, BeginsWithThoseThatAreNearAny) {
  EXPECT_EQ(order_of({0, 0, 4, 4}), (Order{12, 13, 10, 11}));
  EXPECT_EQ(order_of({0, 1U << 15, 0}), (Order{11, 10, 12}));
}

class NearRails : public testing::Test {
 protected:
  /// A NIC that shares its part of the machine with these processors.
  RailAddress add(const std::string& name, const std::string& cores) {
    const fs::path place = sysfs_ / "devices/pci0000:00" / ("0000:0" + std::to_string(++count_) + ":00.0");
    fs::create_directories(place / "virtio0");
    fs::create_directories(sysfs_ / "class/net" / name);
    fs::create_symlink(place / "virtio0", sysfs_ / "class/net" / name / "device");
    if (!cores.empty()) std::ofstream(place / "local_cpulist") << cores << '\n';
    RailAddress rail;
    rail.transport = "tcp";
    rail.name = name;
    return rail;
  }

  TemporaryFolder folder_;
  const fs::path& sysfs_ = folder_.path();
  int count_ = 0;
};

TEST_F(NearRails, AreThoseThatShareAProcessor) {
  const std::string here = std::to_string(sched_getcpu());  // it may be bound narrowly, and not to 0
  const std::vector<RailAddress> rails{add("eth0", here), add("eth1", "8000-8191"), add("eth2", "8000," + here), add("eth3", ""),
                                       add("eth4", "what?")};
  EXPECT_EQ(rails_near(rails, Affinity(), sysfs_), only(0) | only(2));
  EXPECT_EQ(cores_near("eth1", sysfs_).size(), 192U);
  EXPECT_TRUE(cores_near("eth9", sysfs_).empty());
}

}  // namespace
}  // namespace nezha
