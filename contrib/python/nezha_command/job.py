# SPDX-License-Identifier: BSD-3-Clause
"""What launchers tell a process of its job. mpirun comes before srun, which starts mpirun's daemons within an allocation and
leaves its own words in the environment of all that these start."""

import os
import re

_LOCAL_RANK = ("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_LOCAL_RANK", "MPI_LOCALRANKID")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE")
_LOCAL_SIZE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE", "MPI_LOCALNRANKS")
_SLURM_SIZES = "SLURM_STEP_TASKS_PER_NODE"  # of all nodes in order: 2(x3),1


def is_first():
    """Whether this process is the one that speaks for its node."""
    return _first(_LOCAL_RANK, 0) == 0


def size():
    """How many processes there are; 0 where the launcher does not tell."""
    return _first(_SIZE, 0)


def local_size():
    """How many of them are on this node."""
    if "OMPI_COMM_WORLD_SIZE" not in os.environ and _SLURM_SIZES in os.environ:
        sizes = [int(count) for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", os.environ[_SLURM_SIZES])
                 for _ in range(int(times or 1))]
        node = _first(("SLURM_NODEID",), 0)
        return sizes[node] if node < len(sizes) else 1
    return max(1, _first(_LOCAL_SIZE, 1))


def _first(names, default):
    found = [os.environ[name] for name in names if os.environ.get(name, "").isdigit()]
    return int(found[0]) if found else default
