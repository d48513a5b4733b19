# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes a subcommand is about, and how a program is started on them: the options that several subcommands share."""

import os
import shlex
import shutil
import sys

from . import job, ompi
from .errors import CommandError, UsageError

COMMAND = os.path.realpath(sys.argv[0])


def add_options(parser):
    group = parser.add_argument_group(
        "nodes", "Without these options: this node alone. What follows -- goes to mpirun, as in: -- -np 4 --hostfile FILE")
    group.add_argument("--hostfile", metavar="FILE", help="mpirun's: one process on each node of it")
    group.add_argument("--host", metavar="LIST", help="mpirun's: one process on each of these, as in n1,n2")
    group.add_argument("--launcher", metavar="COMMAND", help="in place of mpirun and all of the above, as in "
                       "'srun -N4 --ntasks-per-node=1'")


def is_local(options):
    return not (options.hostfile or options.host or options.launcher or options.mpirun)


def is_silent(options):
    """Started by a launcher without being told of nodes, each process looks at its own; one on each node speaks."""
    return is_local(options) and not job.is_first()


def words(options):
    """What starts one process on each node, to be followed by the program. Raises CommandError without a launcher."""
    if options.launcher:
        try:
            command = shlex.split(options.launcher)
        except ValueError as error:
            raise UsageError(f"--launcher {options.launcher}: {error}") from None
    else:
        command = ["mpirun", *_one_each(options), *options.mpirun]
    if not command or shutil.which(command[0]) is None:
        raise CommandError(f"there is no {command[0] if command else 'command'} here to start processes on other nodes with")
    return command


def _one_each(options):
    """A process per node, unless the user's own words place them."""
    given = [*(["--hostfile", options.hostfile] if options.hostfile else []), *(["--host", options.host] if options.host else [])]
    return ["--map-by", "ppr:1:node", *given] if given else []


def environment():
    """For the launcher: Open MPI's help goes where it belongs, and the component that belongs to this command is found."""
    return {**ompi.environment(), "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe", "PYTHONUNBUFFERED": "1"}
