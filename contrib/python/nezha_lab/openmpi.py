# SPDX-License-Identifier: BSD-3-Clause
"""What differs between Open MPI's series for those who start its jobs: from 5.0 on PRRTE launches them, and its parameters
have another prefix and other names."""

import functools
import re
import subprocess

from .errors import LabUnavailable

# The path's long name. From 5.0 on mpirun hands the short one to PMIx as well, which then complains of our directories;
# and where PMIx's own file sets the short one for every rank, as Debian 13's does, the long one still counts.
COMPONENT_PATH = "OMPI_MCA_opal_mca_base_component_path"


@functools.cache
def major():
    """4 or 5, by mpirun."""
    words = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\(Open MPI\) (\d+)\.", words)
    if found is None:
        raise LabUnavailable(f"mpirun is not Open MPI's: it says '{words.strip()}'")
    return int(found[1])


@functools.cache
def has_coll(name):
    """Whether it has that component for collectives."""
    words = subprocess.run(["ompi_info", "--parsable"], capture_output=True, text=True, check=False).stdout
    return f"mca:coll:{name}:" in words


def component_path(directory):
    return {COMPONENT_PATH: f"{directory}:SYS_DEFAULT:USER_DEFAULT"}


def crowded():
    """Environment for more ranks than cores: none is refused, bound, or spins."""
    launcher = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"} \
        if major() < 5 else {"PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
                             "PRTE_MCA_hwloc_default_binding_policy": "none"}
    return {"OMPI_MCA_mpi_yield_when_idle": "1", **launcher}


def every_help_text():
    """Environment that has each rank's texts shown, also those that another rank has shown already."""
    return {"OMPI_MCA_orte_base_help_aggregate" if major() < 5 else "OMPI_MCA_opal_base_help_aggregate": "0"}


def launched_by(agent, network, temporary):
    """Environment that starts ranks on other nodes by `agent` in place of ssh, with the launcher's own traffic on the
    interface `network` and its files in `temporary`."""
    if major() < 5:
        return {"OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": agent, "OMPI_MCA_oob_tcp_if_include": network,
                "OMPI_MCA_orte_tmpdir_base": temporary}
    return {"PRTE_MCA_plm": "ssh", "PRTE_MCA_plm_ssh_agent": agent, "PRTE_MCA_prte_if_include": network,
            "PRTE_MCA_prte_tmpdir_base": temporary}


def by_tcp():
    """Environment for Open MPI's own messages over TCP, and over shared memory within a node."""
    return {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": f"tcp,self,{'vader' if major() < 5 else 'sm'}"}


def outlives_ranks():
    """Options of mpirun with which a killed rank does not end the job."""
    return ["--enable-recovery"] if major() < 5 else ["--with-ft", "ulfm"]


def output(text):
    """What mpirun has printed, less the zero bytes that 5.0 now and then puts there behind a help text; None stays None."""
    return text and text.replace("\0", "")
