# SPDX-License-Identifier: BSD-3-Clause
"""nezha on-node: what a launcher starts on each node, one process of which answers there."""

import socket

from nezha_doctor import facts, probe

from . import ask, installed, job, letters, ompi, packed

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
    if job.is_first():
        letters.send(socket.gethostname(), 0, {"here": job.local_size(), "all": job.size(),
                                               "answer": QUESTIONS[options.question](*options.with_what)})
    return 0
