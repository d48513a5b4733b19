# SPDX-License-Identifier: BSD-3-Clause
"""nezha on-node: what a launcher starts on each node, one process of which answers there."""

import argparse
import socket

from nezha_doctor import facts, probe

from . import ask, installed, job, letters, ompi, packed

# Between the program's name and a question.
VERB = "on-node"


def rails():
    return {"nezha": installed.VERSION, **ask.rails(ompi.rail_parameters()), "memory": ask.memory()}


def probed(*plan):
    """The doctor's probe; what the kernel knows of neighbours is looked at when it is over."""
    found = probe.Probe(packed.unpack(plan), socket.gethostname()).run()
    return {**found, "neighbours": facts.neighbours()}


QUESTIONS = {"rails": rails, "facts": facts.gather, "probe": probed}


def parser():
    found = argparse.ArgumentParser(prog=f"nezha on {socket.gethostname()}")
    found.add_argument("question", choices=QUESTIONS)
    found.add_argument("with_what", nargs="*")
    found.set_defaults(run=run)
    return found


def run(options):
    if job.is_first():
        letters.send(socket.gethostname(), 0, {"here": job.local_size(), "all": job.size(),
                                               "answer": QUESTIONS[options.question](*options.with_what)})
    return 0
