# SPDX-License-Identifier: BSD-3-Clause
"""nezha on-node: what a launcher starts on each node, one process of which answers there."""

import os
import socket

from nezha_doctor import facts, probe

from . import ask, installed, letters, ompi, packed

# By launcher: the process's number on its node, how many nodes there are, and where that is not told, how many processes.
_LOCAL = ("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_LOCAL_RANK", "MPI_LOCALRANKID")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE")
_LOCAL_SIZE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE", "MPI_LOCALNRANKS")


def _first(names, default):
    found = [os.environ[name] for name in names if os.environ.get(name, "").isdigit()]
    return int(found[0]) if found else default


def is_first():
    """Whether this process is the one that speaks for its node."""
    return _first(_LOCAL, 0) == 0


def nodes():
    """How many nodes there are, if all have as many processes as this one."""
    return max(1, _first(_SIZE, 1) // max(1, _first(_LOCAL_SIZE, 1)))


def rails():
    return {"nezha": installed.VERSION, **ask.rails(ompi.rail_parameters())}


def probed(*plan):
    """The doctor's probe; what the kernel knows of neighbours is looked at when it is over."""
    found = probe.Probe(packed.unpack(plan), socket.gethostname()).run()
    return {**found, "neighbours": facts.neighbours()}


QUESTIONS = {"rails": rails, "facts": facts.gather, "probe": probed}


def add(verbs):
    parser = verbs.add_parser("on-node")  # without a help text it is in no list
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument("with_what", nargs="*")
    parser.set_defaults(run=run)


def run(options):
    if is_first():
        letters.send(socket.gethostname(), 0, {"nodes": nodes(), "answer": QUESTIONS[options.question](*options.with_what)})
    return 0
