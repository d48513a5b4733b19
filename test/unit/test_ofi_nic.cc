// SPDX-License-Identifier: BSD-3-Clause
/// The PCIe device behind a domain of libfabric's, by what providers tell of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "rail/ofi/ofi_nic.h"
#include "temporary_folder.h"

namespace nezha {
namespace {

namespace fs = std::filesystem;

class OfiNic : public testing::Test {
 protected:
  OfiNic() {
    add("infiniband", "mlx5_0", "0000:3b:00.0");
    add("net", "eth0", "0000:5e:00.1");
    info_.domain_attr = &domain_;
  }
  void add(const std::string& kind, const std::string& name, const std::string& place) {
    fs::create_directories(sysfs_ / "devices" / place);
    fs::create_directories(sysfs_ / "class" / kind / name);
    fs::create_symlink(sysfs_ / "devices" / place, sysfs_ / "class" / kind / name / "device");
  }
  std::string of(const char* domain) {
    domain_name_ = domain;
    domain_.name = domain_name_.data();
    return ofi_pci_device(info_, sysfs_);
  }
  void tell(const char* device) {
    device_name_ = device;
    device_.name = device_name_.data();
    nic_.device_attr = &device_;
    info_.nic = &nic_;
  }
  void tell(const fi_pci_attr& pci) {
    bus_ = {FI_BUS_PCI, {pci}};
    nic_.bus_attr = &bus_;
    info_.nic = &nic_;
  }

  TemporaryFolder folder_;
  const fs::path& sysfs_ = folder_.path();
  std::string domain_name_, device_name_;
  fi_info info_{};
  fi_domain_attr domain_{};
  fid_nic nic_{};
  fi_device_attr device_{};
  fi_bus_attr bus_{};
};

TEST_F(OfiNic, ByTheNameOfItsDomain) {
  EXPECT_EQ(of("mlx5_0"), "0000:3b:00");
  EXPECT_EQ(of("eth0"), "0000:5e:00");
  EXPECT_EQ(of("rdmap0s6-rdm"), "");
}

TEST_F(OfiNic, ByTheNameOfTheProvidersDevice) {
  tell("mlx5_0");
  EXPECT_EQ(of("mlx5_0-xrc"), "0000:3b:00");
  tell("gone");
  EXPECT_EQ(of("eth0"), "0000:5e:00");
}

TEST_F(OfiNic, ByTheAddressThatTheProviderGives) {
  tell("mlx5_0");
  tell(fi_pci_attr{0, 0xaf, 0x1f, 1});
  EXPECT_EQ(of("rdmap0s6-rdm"), "0000:af:1f");
  bus_.bus_type = FI_BUS_UNKNOWN;
  EXPECT_EQ(of("rdmap0s6-rdm"), "0000:3b:00");
}

}  // namespace
}  // namespace nezha
