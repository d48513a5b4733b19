# SPDX-License-Identifier: BSD-3-Clause
"""RDMA devices of a lab's nodes: one for each rail, made of its interface by the kernel's rdma_rxe (RoCE v2 over any Ethernet).

Network namespaces have RDMA devices of their own only where the kernel was told so before it had any namespace
(`rdma system set netns exclusive`), as a guest's is: lab guest. A device's name is unique in the whole kernel, not in its
namespace, so it names its node too.
"""

import os

from .errors import LabError, LabUnavailable
from .tools import require, run

# What an InfiniBand packet of 4096 bytes needs; with 1500 it has 1024 bytes.
MTU = 4500
_NAMESPACES = "/run/netns"  # where rdma looks names up


def device(node, rail):
    return f"n{node}rxe{rail}"


def check():
    """Raises what says why this machine has none."""
    require("rdma")
    if os.geteuid() != 0:
        raise LabUnavailable("RDMA devices need root: the kernel gives a user's namespaces none (lab guest has its own root)")
    try:
        mode = run(["rdma", "system", "show"])
    except LabError as error:
        raise LabUnavailable(f"this kernel has no RDMA ({error}): lab guest boots one that has") from None
    if "exclusive" not in mode:
        raise LabUnavailable("this kernel shares RDMA devices among namespaces (rdma system show), and says otherwise only while "
                             "it has no namespace (rdma system set netns exclusive): lab guest boots one that does")


def add(node, rails, node_pid):
    """Makes the devices of a node's rails. From a process that may be in any namespace."""
    _batch(node_pid, [f"link add {device(node, rail)} type rxe netdev eth{rail}" for rail in rails])
    os.makedirs(_NAMESPACES, exist_ok=True)
    # The kernel puts a new device into the first namespace, whoever asks; there process 1 is.
    _batch(1, [f"dev set {device(node, rail)} netns ../../proc/{node_pid}/ns/net" for rail in rails])


def _batch(pid, lines):
    """One rdma for many commands, in the namespace of a process."""
    run(["nsenter", "--target", str(pid), "--net", "--", "rdma", "-b", "-"], "\n".join(lines) + "\n")
