# SPDX-License-Identifier: BSD-3-Clause
"""What a guest is made of: pure data, checked when it is made."""

import dataclasses
import os

from nezha_lab.errors import LabUsage

# Its kernels have rdma_rxe in network namespaces; those of Debian 12 and 13 themselves do not.
SUITE = "trixie-backports"
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

# Without the devices of 4 nodes with 3 networks 512 MiB would do.
LEAST_MEMORY, MEMORY, MOST_MEMORY = 512, 1024, 65536
SECONDS, MOST_SECONDS = 600, 24 * 3600
ACCELERATORS = ("tcg", "kvm")

# Loaded in this order, with what they depend on; a kernel that has one built in has no such file.
MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "dummy", "veth", "bridge", "sch_tbf", "sch_netem",
           "af_packet", "rdma_ucm", "rdma_rxe")


@dataclasses.dataclass(frozen=True)
class Settings:
    """cache: the directory that keeps kernel and initrd. seconds: for the boot and the command together. share: a directory
    that the guest may write to; all else that it writes is gone with it."""

    cache: str
    processors: int = 2
    memory: int = MEMORY
    seconds: int = SECONDS
    accelerator: str = "tcg"
    share: str = ""

    def __post_init__(self):
        _within("processors", self.processors, 1, 64)
        _within("memory", self.memory, LEAST_MEMORY, MOST_MEMORY)
        _within("timeout", self.seconds, 1, MOST_SECONDS)
        if self.accelerator not in ACCELERATORS:
            raise LabUsage(f"accelerator '{self.accelerator}': {' or '.join(ACCELERATORS)} is allowed")
        if self.share and not os.path.isdir(self.share):
            raise LabUsage(f"share '{self.share}': there is no such directory")


def _within(what, value, least, most):
    if not isinstance(value, int) or not least <= value <= most:
        raise LabUsage(f"{what} '{value}': {least} to {most} is allowed")
