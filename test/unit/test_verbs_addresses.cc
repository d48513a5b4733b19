// SPDX-License-Identifier: BSD-3-Clause
/// Which of its addresses a port of RoCE becomes a rail by. Those of the loopback interface are what the test says.
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fake_verbs.h"
#include "rail/verbs/verbs.h"
#include "temporary_folder.h"

namespace nezha::test {
namespace {

struct Present {
  ifaddrs entry{};
  sockaddr_storage address{}, mask{};
};
std::vector<std::unique_ptr<Present>> present;

VerbsPlace place(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) { return {4, {a, b, c, d}, 0}; }
const VerbsPlace kSix{6, {0xfd, 1}, 0};

class VerbsAddresses : public testing::Test {
 protected:
  void TearDown() override {
    present.clear();
    Device::table_of = {Device::kHere};
  }
  static void have(const std::vector<VerbsPlace>& places) {
    present.clear();
    Device::table_of = places;
    for (const VerbsPlace& each : places) {
      Present& made = *present.emplace_back(std::make_unique<Present>());
      static char name[] = "lo";
      socket_address(each, made.address);
      socket_address(each.family == 4 ? place(255, 255, 255, 0) : VerbsPlace{6, {0xff, 0xff}, 0}, made.mask);
      made.entry.ifa_name = name;
      made.entry.ifa_addr = reinterpret_cast<sockaddr*>(&made.address);
      made.entry.ifa_netmask = reinterpret_cast<sockaddr*>(&made.mask);
      if (present.size() > 1) present[present.size() - 2]->entry.ifa_next = &made.entry;
    }
  }
  /// The address of the rail that the words choose, in either order of the table of GIDs.
  static std::string chosen(std::vector<VerbsPlace> places, const char* words) {
    std::string found[2];
    for (std::string& each : found) {
      have(places);
      Device made;
      std::vector<std::unique_ptr<VerbsDevice>> devices;
      devices.push_back(made.open());
      InterfaceList include;
      EXPECT_TRUE(parse(words, include).ok());
      const VerbsDiscovery chosen = choose_verbs(std::move(devices), include);
      if (chosen.chosen.size() == 1)
        each = text_of(chosen.chosen[0]->place()) + "/" + std::to_string(chosen.chosen[0]->prefix());
      std::reverse(places.begin(), places.end());
    }
    EXPECT_EQ(found[0], found[1]);
    return found[0];
  }
};

TEST_F(VerbsAddresses, TheLowestOneIsTheRails) {
  EXPECT_EQ(chosen({place(10, 1, 0, 9), place(10, 1, 0, 7)}, "fake"), "10.1.0.7/24");
  EXPECT_EQ(chosen({kSix, place(192, 168, 0, 1)}, "verbs/lo"), "192.168.0.1/24");
}

TEST_F(VerbsAddresses, TheOneThatAWordMeansIsTheRails) {
  const std::vector<VerbsPlace> places{place(10, 1, 0, 7), place(10, 2, 0, 7), kSix};
  EXPECT_EQ(chosen(places, "verbs/10.2.0.0/16"), "10.2.0.7/24");
  EXPECT_EQ(chosen(places, "verbs/10.1.0.0/16"), "10.1.0.7/24");
  EXPECT_EQ(chosen(places, "verbs/fd00::/8"), "fd01::/16");
  EXPECT_EQ(chosen(places, "verbs/10.3.0.0/16"), "");
}

/// Soft RoCE's has none of its own.
TEST_F(VerbsAddresses, ADeviceWithoutNicHasThatOfItsInterface) {
  namespace fs = std::filesystem;
  TemporaryFolder folder;
  const fs::path sysfs = folder.path();
  const auto add = [&](const char* of, const char* place) {
    fs::create_directories(sysfs / "devices" / place);
    fs::create_directories(sysfs / of);
    fs::create_symlink(sysfs / "devices" / place, sysfs / of / "device");
  };
  have({place(10, 1, 0, 7)});
  Device::sysfs = sysfs;
  Device made;
  const std::unique_ptr<VerbsDevice> device = made.open();
  Device::sysfs = "/sys";
  ASSERT_TRUE(device->look().ok());
  EXPECT_EQ(device->pci_device(), "");
  add("class/net/lo", "pci0000:3a/0000:3b:00.0/virtio0");
  EXPECT_EQ(device->pci_device(), "0000:3b:00");
  add("class/infiniband/fake", "pci0000:3a/0000:5e:00.1");
  EXPECT_EQ(device->pci_device(), "0000:5e:00");
}

}  // namespace
}  // namespace nezha::test

extern "C" int getifaddrs(ifaddrs** list) noexcept {
  *list = nezha::test::present.empty() ? nullptr : &nezha::test::present.front()->entry;
  return 0;
}
extern "C" void freeifaddrs(ifaddrs*) noexcept {}
