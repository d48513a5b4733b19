// SPDX-License-Identifier: BSD-3-Clause
/// What libfabric's providers tell of the NIC behind a domain.
#pragma once

#include <string>

#include "rail/ofi/library.h"

namespace nezha {

/// Its PCIe device, as pci_device_of() has it: by the address that the provider gives, or else by the name of its device, or of the
/// domain. Empty: none of these tells.
std::string ofi_pci_device(const fi_info& info, const std::string& sysfs = "/sys");

}  // namespace nezha
