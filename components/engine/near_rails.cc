// SPDX-License-Identifier: BSD-3-Clause
#include "engine/near_rails.h"

#include <algorithm>

#include "rail/rail.h"
#include "util/pci_device.h"

namespace nezha {

RailSet rails_near(std::span<const RailAddress> rails, const Affinity& affinity, const std::string& sysfs) {
  RailSet near = 0;
  for (std::size_t rail = 0; rail < rails.size(); ++rail) {
    const Cores cores = cores_near(rails[rail].name, sysfs);
    if (!cores.empty() && affinity.meets(cores)) near |= only(rail);
  }
  return near;
}

std::vector<int> carrying_order(std::span<const NearRank> ranks) {
  std::vector<NearRank> left(ranks.begin(), ranks.end());
  std::vector<int> order;
  const auto take = [&](const auto& wanted) {
    const auto found = std::find_if(left.begin(), left.end(), wanted);
    if (found == left.end()) return false;
    order.push_back(found->rank);
    left.erase(found);
    return true;
  };
  for (bool any = true; any;) {
    any = false;
    for (std::size_t rail = 0; rail < kMaxRails; ++rail)
      any |= take([rail](const NearRank& each) { return has(each.near, rail); });
  }
  for (const NearRank& each : left) order.push_back(each.rank);
  return order;
}

}  // namespace nezha
