// SPDX-License-Identifier: BSD-3-Clause
#include "util/pci_device.h"

#include <filesystem>
#include <system_error>

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

/// The last PCI address on the way to what the link leads to: a virtio NIC lies below its PCI device.
std::string device_behind(const fs::path& link) {
  std::error_code error;
  const fs::path place = fs::canonical(link, error);
  if (error) return {};
  std::string device;
  for (const fs::path& part : place)
    if (is_pci_address(part.native())) device = part.native().substr(0, part.native().find('.'));
  return device;
}

std::string device_of_name(const fs::path& sysfs, std::string_view name) {
  for (const char* kind : {"net", "infiniband"}) {
    const fs::path place = sysfs / "class" / kind / name / "device";
    for (const fs::path& link : {place / "physfn", place})
      if (std::string device = device_behind(link); !device.empty()) return device;
  }
  return {};
}

}  // namespace

std::string pci_device_of(std::string_view nic, const std::string& sysfs) {
  const std::size_t colon = nic.find(':');
  for (const std::string_view name : {nic, nic.substr(0, colon), colon == nic.npos ? nic : nic.substr(colon + 1)}) {
    if (name.empty() || name[0] == '.' || name.find('/') != name.npos) continue;
    if (std::string device = device_of_name(sysfs, name); !device.empty()) return device;
  }
  return {};
}

}  // namespace nezha
