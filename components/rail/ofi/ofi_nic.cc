// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/ofi_nic.h"

#include <cstdio>

#include "util/pci_device.h"

namespace nezha {

std::string ofi_pci_device(const fi_info& info, const std::string& sysfs) {
  std::string device;
  if (const fid_nic* nic = info.nic; nic != nullptr) {
    if (nic->bus_attr != nullptr && nic->bus_attr->bus_type == FI_BUS_PCI) {
      const fi_pci_attr& pci = nic->bus_attr->attr.pci;
      char address[32];
      std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id, pci.function_id);
      device = pci_device_at(address, sysfs);
    }
    if (device.empty() && nic->device_attr != nullptr && nic->device_attr->name != nullptr)
      device = pci_device_of(nic->device_attr->name, sysfs);
  }
  if (device.empty() && info.domain_attr != nullptr && info.domain_attr->name != nullptr)
    device = pci_device_of(info.domain_attr->name, sysfs);
  return device;
}

}  // namespace nezha
