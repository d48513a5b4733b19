// SPDX-License-Identifier: BSD-3-Clause
/// Which network interfaces IP over InfiniBand has made of a port.
#pragma once

#include <string>
#include <vector>

namespace nezha {

/// By name. The kernel lists those of all ports of the PCI function with the device, Ethernet ones too; children, which
/// are of another partition than the rail's pairs, are left out. Reads files below `sysfs`.
std::vector<std::string> infiniband_interfaces(const std::string& sysfs, const std::string& device, unsigned port);

}  // namespace nezha
