# SPDX-License-Identifier: BSD-3-Clause
"""MPICH, as Debian has it (over UCX), beside Open MPI: it has a launcher of its own, and other settings."""

import os
import shutil

LAUNCHER = "mpiexec.hydra"


def why_not(program):
    """Why this program of MPICH's cannot run here, in one sentence; None: it can."""
    if not os.access(program, os.X_OK):
        return f"the build has no {os.path.basename(program)} (contrib/install-packages mpich, and build again)"
    if shutil.which(LAUNCHER) is None:
        return f"there is no {LAUNCHER} (contrib/install-packages mpich)"
    return None


def starter(agent, network, hosts):
    """A command line's beginning. agent: started in place of rsh; network: the launcher's own; hosts: NAME:RANKS,... .
    Not in place of ssh, to which it gives options."""
    return [LAUNCHER, "-launcher", "rsh", "-launcher-exec", agent, "-iface", network, "-hosts", hosts]


def over(interfaces):
    """Environment for messages between nodes over these interfaces. All else is as MPICH and UCX choose."""
    return {"UCX_NET_DEVICES": interfaces}
