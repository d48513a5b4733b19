// SPDX-License-Identifier: BSD-3-Clause
/// Which interfaces are a port's, by files of a tree like the kernel's.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "rail/verbs/verbs_interfaces.h"
#include "temporary_folder.h"

namespace nezha {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class VerbsInterfaces : public testing::Test {
 protected:
  void add(const std::string& interface, std::map<std::string, std::string> files) {
    const fs::path folder = sysfs_ / "class/infiniband/mlx4_0/device/net" / interface;
    fs::create_directories(folder);
    files.insert({{"type", "32"}, {"dev_port", "0"}, {"dev_id", "0x0"}, {"ifindex", "7"}, {"iflink", "7"}});
    for (const auto& [name, text] : files) std::ofstream(folder / name) << text << '\n';
  }
  Names of(unsigned port) const { return infiniband_interfaces(sysfs_, "mlx4_0", port); }

  TemporaryFolder folder_;
  const fs::path& sysfs_ = folder_.path();
};

TEST_F(VerbsInterfaces, AreThoseOfThePort) {
  add("ib3", {{"dev_port", "1"}, {"dev_id", "0x1"}});
  add("ib1", {{"dev_port", "1"}, {"dev_id", "0x1"}});
  add("ib0", {});
  add("eth0", {{"type", "1"}});
  EXPECT_EQ(of(1), Names{"ib0"});
  EXPECT_EQ(of(2), (Names{"ib1", "ib3"}));
  EXPECT_EQ(of(3), Names{});
}

TEST_F(VerbsInterfaces, AreNotThoseOfOtherPartitions) {
  add("ib0", {});
  add("ib0.8001", {{"parent", "ib0"}});
  add("ib0.8002", {{"ifindex", "9"}});
  EXPECT_EQ(of(1), Names{"ib0"});
}

TEST_F(VerbsInterfaces, AreToldByOldKernelsToo) {
  add("ib0", {});
  add("ib1", {{"dev_id", "0x1"}});
  EXPECT_EQ(of(1), Names{"ib0"});
  EXPECT_EQ(of(2), Names{"ib1"});
}

TEST_F(VerbsInterfaces, AreNoneWithoutTheDevice) { EXPECT_EQ(of(1), Names{}); }

}  // namespace
}  // namespace nezha
