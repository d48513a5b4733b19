// SPDX-License-Identifier: BSD-3-Clause
/// The PCIe device that a rail's NIC is part of. Functions and ports of one device share its slot, and so its capacity.
#pragma once

#include <string>
#include <string_view>

#include "util/core_list.h"

namespace nezha {

/// "0000:3b:00": domain, bus and slot, without the function. `nic`: a network interface ("eth0"), an RDMA device with or
/// without its port ("mlx5_0:1"), or either behind the name of a provider ("tcp:eth0"). A virtual function counts as its
/// physical one. Empty: the kernel names none, as for virtual interfaces. Reads links below `sysfs`.
std::string pci_device_of(std::string_view nic, const std::string& sysfs = "/sys");

/// The same of a device by its own address, "0000:3b:02.1". Empty: that is none.
std::string pci_device_at(std::string_view address, const std::string& sysfs = "/sys");

/// The processors that share the device's part of the machine, by the kernel's word; none: it says nothing. `nic` as above.
Cores cores_near(std::string_view nic, const std::string& sysfs = "/sys");

}  // namespace nezha
