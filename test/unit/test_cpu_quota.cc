// SPDX-License-Identifier: BSD-3-Clause
/// Limits of processor time, by what kernels write of control groups.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/cpu_quota.h"
#include "temporary_folder.h"

namespace nezha {
namespace {

class CpuQuota : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::size_t of(const std::string& groups) const {
    write("groups", groups);
    return cpu_quota(folder_.path() / "groups", folder_.path() / "mounted");
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(CpuQuota, IsNoneWhereNothingIsSaid) {
  EXPECT_EQ(cpu_quota("/nowhere", "/nowhere"), 0U);
  EXPECT_EQ(of(""), 0U);
  EXPECT_EQ(of("0::/a\n"), 0U);
  write("mounted/a/cpu.max", "max 100000\n");
  EXPECT_EQ(of("0::/a\n"), 0U);
  write("mounted/a/cpu.max", "nonsense");
  EXPECT_EQ(of("0::/a\n"), 0U);
}

TEST_F(CpuQuota, IsThatOfAContainerThatSeesItsOwnGroupOnly) {
  write("mounted/cpu.max", "350000 100000\n");
  EXPECT_EQ(of("0::/\n"), 3U);
  EXPECT_EQ(of("0::/../elsewhere\n"), 3U);
  write("mounted/cpu.max", "20000 100000\n");
  EXPECT_EQ(of("0::/\n"), 1U) << "a process runs with less than one processor, too";
}

TEST_F(CpuQuota, IsTheLeastOfAllGroupsAbove) {
  write("mounted/job/cpu.max", "200000 100000\n");
  write("mounted/job/step/cpu.max", "400000 100000\n");
  EXPECT_EQ(of("0::/job/step/task\n"), 2U);
  EXPECT_EQ(of("0::/other\n"), 0U);
}

TEST_F(CpuQuota, OfVersionOneIsOfTheHierarchyOfProcessors) {
  write("mounted/cpu,cpuacct/docker/7f/cpu.cfs_quota_us", "600000\n");
  write("mounted/cpu,cpuacct/docker/7f/cpu.cfs_period_us", "200000\n");
  write("mounted/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
  write("mounted/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  write("mounted/memory/docker/7f/cpu.max", "100000 100000\n");
  EXPECT_EQ(of("9:memory:/docker/7f\n4:cpu,cpuacct:/docker/7f\n0::/docker/7f\n"), 3U);
  EXPECT_EQ(of("9:memory:/docker/7f\n3:cpuset:/docker/7f\n"), 0U);
}

TEST_F(CpuQuota, OfVersionTwoBesideVersionOneIsRead) {
  write("mounted/unified/slurm/cpu.max", "500000 100000\n");
  EXPECT_EQ(of("1:name=systemd:/x\n0::/slurm\n"), 5U);
}

}  // namespace
}  // namespace nezha
