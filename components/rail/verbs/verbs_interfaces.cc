// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_interfaces.h"

#include <net/if_arp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace nezha {
namespace {

namespace fs = std::filesystem;

/// Decimal, or hexadecimal with 0x; 0: there is no such file.
unsigned number_in(const fs::path& path) {
  std::ifstream file(path);
  file.unsetf(std::ios::basefield);
  unsigned number = 0;
  file >> number;
  return file ? number : 0;
}

/// Kernels before 3.15 have it in dev_id alone.
unsigned port_of(const fs::path& interface) {
  const unsigned port = number_in(interface / "dev_port");
  return 1 + (port != 0 ? port : number_in(interface / "dev_id"));
}

/// Those made by ip(8) name their parent as the link below them only.
bool is_child(const fs::path& interface) {
  std::error_code error;
  return fs::exists(interface / "parent", error) || number_in(interface / "iflink") != number_in(interface / "ifindex");
}

}  // namespace

std::vector<std::string> infiniband_interfaces(const std::string& sysfs, const std::string& device, unsigned port) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = fs::path(sysfs) / "class" / "infiniband" / device / "device" / "net";
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    const fs::path& interface = each->path();
    if (number_in(interface / "type") == ARPHRD_INFINIBAND && port_of(interface) == port && !is_child(interface))
      names.push_back(interface.filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace nezha
