// SPDX-License-Identifier: BSD-3-Clause
#include "util/pci_device.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace nezha {
namespace {

namespace fs = std::filesystem;

/// "0000:3b:00.1"
bool is_pci_address(std::string_view word) {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  if (word.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool hexadecimal = (word[i] >= '0' && word[i] <= '9') || (word[i] >= 'a' && word[i] <= 'f');
    if (kForm[i] == 'x' ? !hexadecimal : word[i] != kForm[i]) return false;
  }
  return true;
}

/// The last PCI device on the way to what the link leads to, as a path: a virtio NIC lies below its PCI device.
fs::path place_behind(const fs::path& link) {
  std::error_code error;
  const fs::path end = fs::canonical(link, error);
  if (error) return {};
  fs::path way, device;
  for (const fs::path& part : end) {
    way /= part;
    if (is_pci_address(part.native())) device = way;
  }
  return device;
}

fs::path place_of_name(const fs::path& sysfs, std::string_view name) {
  for (const char* kind : {"net", "infiniband"}) {
    const fs::path place = sysfs / "class" / kind / name / "device";
    for (const fs::path& link : {place / "physfn", place})
      if (fs::path device = place_behind(link); !device.empty()) return device;
  }
  return {};
}

fs::path place_of(std::string_view nic, const fs::path& sysfs) {
  const std::size_t colon = nic.find(':');
  for (const std::string_view name : {nic, nic.substr(0, colon), colon == nic.npos ? nic : nic.substr(colon + 1)}) {
    if (name.empty() || name[0] == '.' || name.find('/') != name.npos) continue;
    if (fs::path place = place_of_name(sysfs, name); !place.empty()) return place;
  }
  return {};
}

std::string slot_of(const std::string& address) { return address.substr(0, address.find('.')); }

}  // namespace

std::string pci_device_of(std::string_view nic, const std::string& sysfs) { return slot_of(place_of(nic, sysfs).filename()); }

std::string pci_device_at(std::string_view address, const std::string& sysfs) {
  if (!is_pci_address(address)) return {};
  const fs::path physical = place_behind(fs::path(sysfs) / "bus/pci/devices" / address / "physfn");
  return slot_of(physical.empty() ? std::string(address) : physical.filename().string());
}

Cores cores_near(std::string_view nic, const std::string& sysfs) {
  const fs::path place = place_of(nic, sysfs);
  std::ifstream file(place / "local_cpulist");
  std::string text;
  CoreList list;
  if (place.empty() || !std::getline(file, text) || !parse("nic=" + text, list).ok() || list.entries.size() != 1) return {};
  return std::move(list.entries[0].cores);
}

}  // namespace nezha
