// SPDX-License-Identifier: BSD-3-Clause
/// The PCIe device behind a rail, by links of a tree like the kernel's.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "temporary_folder.h"
#include "util/pci_device.h"

namespace nezha {
namespace {

namespace fs = std::filesystem;

class PciDevice : public testing::Test {
 protected:
  /// The NIC `name` lies at `place` below devices/.
  void add(const std::string& kind, const std::string& name, const std::string& place) {
    fs::create_directories(sysfs_ / "devices" / place);
    fs::create_directories(sysfs_ / "class" / kind / name);
    fs::create_symlink(sysfs_ / "devices" / place, sysfs_ / "class" / kind / name / "device");
  }
  std::string of(const std::string& nic) const { return pci_device_of(nic, sysfs_); }

  TemporaryFolder folder_;
  const fs::path& sysfs_ = folder_.path();
};

TEST_F(PciDevice, FunctionsOfOneSlotAreOneDevice) {
  add("net", "eth0", "pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  add("net", "eth1", "pci0000:3a/0000:3a:00.0/0000:3b:00.1");
  add("net", "eth2", "pci0000:3a/0000:3a:02.0/0000:3c:00.0");
  EXPECT_EQ(of("eth0"), "0000:3b:00");
  EXPECT_EQ(of("eth1"), of("eth0"));
  EXPECT_EQ(of("eth2"), "0000:3c:00") << "another slot below the same bridge";
}

TEST_F(PciDevice, RdmaDevicesByPortAndProvidersByInterface) {
  add("net", "eth0", "pci0000:3a/0000:3b:00.0");
  add("infiniband", "mlx5_0", "pci0000:3a/0000:3b:00.0");
  EXPECT_EQ(of("mlx5_0:2"), "0000:3b:00");
  EXPECT_EQ(of("tcp:eth0"), "0000:3b:00");
}

TEST_F(PciDevice, VirtioNicLiesBelowItsDevice) {
  add("net", "eth0", "pci0000:00/0000:00:03.0/virtio2");
  EXPECT_EQ(of("eth0"), "0000:00:03");
}

TEST_F(PciDevice, VirtualFunctionSharesItsPhysicalOnesDevice) {
  add("net", "eth0", "pci0000:3a/0000:3b:00.0");
  add("net", "eth9", "pci0000:3a/0000:3b:02.1");
  fs::create_symlink(sysfs_ / "devices/pci0000:3a/0000:3b:00.0", sysfs_ / "devices/pci0000:3a/0000:3b:02.1/physfn");
  EXPECT_EQ(of("eth9"), of("eth0"));
}

TEST_F(PciDevice, ByItsOwnAddress) {
  fs::create_directories(sysfs_ / "devices/pci0000:3a/0000:3b:00.0");
  fs::create_directories(sysfs_ / "devices/pci0000:3a/0000:3b:02.1");
  fs::create_directories(sysfs_ / "bus/pci/devices");
  fs::create_symlink(sysfs_ / "devices/pci0000:3a/0000:3b:00.0", sysfs_ / "devices/pci0000:3a/0000:3b:02.1/physfn");
  fs::create_symlink(sysfs_ / "devices/pci0000:3a/0000:3b:02.1", sysfs_ / "bus/pci/devices/0000:3b:02.1");
  EXPECT_EQ(pci_device_at("0000:3b:02.1", sysfs_), "0000:3b:00") << "a virtual function";
  EXPECT_EQ(pci_device_at("0001:5e:00.1", sysfs_), "0001:5e:00") << "the kernel need not show it";
  for (const char* other : {"", "eth0", "0000:3b:02", "../../etc"}) EXPECT_EQ(pci_device_at(other, sysfs_), "") << other;
}

TEST_F(PciDevice, NoneIsKnown) {
  fs::create_directories(sysfs_ / "class/net/veth0");
  add("net", "usb0", "platform/usb1");
  for (const char* nic : {"veth0", "usb0", "gone", "", ":", "..", "../devices", "btl/0"}) EXPECT_EQ(of(nic), "") << nic;
}

}  // namespace
}  // namespace nezha
