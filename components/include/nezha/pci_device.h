/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NEZHA_PCI_DEVICE_H
#define NEZHA_PCI_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The PCIe device ("0000:3b:00") of the NIC behind the rail of that name ("tcp/eth0") on this node, or "" if the kernel
 *  names none. Rails of one device share its capacity. Reads links of /sys; needs no engine. */
void nezha_rail_pci_device(const char *name, char *device, size_t size);

#ifdef __cplusplus
}
#endif
#endif
