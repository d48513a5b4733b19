# SPDX-License-Identifier: BSD-3-Clause
"""The user's own cluster in the place of a lab: what the bench's machinery needs to launch jobs there by mpirun."""

import os
import shutil

from nezha_bench.competitors import INCUMBENT, NEZHA, Programs
from nezha_bench.cases import Case

from . import installed, launch
from .errors import CommandError
from .session import Session


class Cluster:
    """Stands for a Lab in nezha_bench.rounds and nezha_bench.launch."""

    def __init__(self, mpirun_options):
        if shutil.which("mpirun") is None:
            raise CommandError("there is no mpirun here")
        self._options = mpirun_options

    def popen(self, arguments, **options):
        return Session(["mpirun", *self._options, *arguments], env=environment(), **options)

    def limit_seconds(self, _size, _ranks, **_beside):
        """What the wires allow is not known here."""
        return 0.0


def environment():
    env = launch.environment()
    env.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    return env


class Launcher:
    """Stands for nezha_bench.competitors.Launcher: the options for a competitor, before the program and its arguments."""

    def __init__(self, effort, nezha_mca=()):
        program = os.path.join(installed.LIBEXEC, "nezha_allreduce_bench")
        if not os.access(program, os.X_OK):
            raise CommandError(f"there is no {program}: install Nezha again")
        self.case = Case("cluster", 0, ())
        self.programs = Programs(program, "", installed.COMPONENT)
        self.effort, self.nezha_mca = effort, tuple(nezha_mca)
        self.services = []  # whose cost is measured: a cluster's aggregators run elsewhere

    def of(self, competitor):
        """(arguments, keywords)"""
        pairs = self.nezha_mca if competitor == NEZHA else (("coll_nezha_enable", "0"),)
        sizes = ",".join(map(str, self.effort.sizes))
        return [*(word for pair in pairs for word in ("--mca", *pair)), self.programs.mpi, "--json", "-s", sizes, "-T",
                str(self.effort.seconds)], {}


COMPETITORS = (NEZHA, INCUMBENT)
