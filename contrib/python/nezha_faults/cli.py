# SPDX-License-Identifier: BSD-3-Clause
"""The command line of contrib/faults, and what it measures in which order."""

import argparse
import contextlib
import dataclasses
import os
import sys

from nezha_lab import Lab, awake
from nezha_lab.aggregator import Aggregator
from nezha_lab.checkout import DEFAULT_BUILD
from nezha_lab.leaving import exit_status, leave_on_signals

from nezha_bench import document, files
from nezha_bench.aggregator import key_file
from nezha_bench.arguments import more_than_0, numbers, positive
from nezha_bench.cases import PRESETS
from nezha_bench.errors import UNWRITTEN, BenchError, BenchUsage

from . import flood, others, rate, rounds, service, soak, table
from .calls import CallJob
from .trigger import Trigger

_CASES = ("silent", "carrier", "three-of-four", "service", "rate", "soak", "flood")
_SIZE, _SIZE_BYTES = "16M", 16 << 20

_ABOUT = """\
Breaks rails of an emulated cluster under a running job that checks every element of every result, and measures:

  silent, carrier  one of two rails lost on all nodes in the middle of a call, by silence or by its carrier: time beyond
                   what the remaining rail needs; then the rail's return: first bytes on it, and 95 % of the speed again.
                   Beside it what Open MPI (over all rails) and Gloo do under the same fault, one try each
  three-of-four    the same with three of four rails lost at once
  service          an aggregation service, which carries the vectors alone over two links of 4 Gbit/s, killed in the middle of
                   a call: time beyond what the rails need for the rest of it; then it is started again
  rate             one of two rails halved to 500 Mbit/s on all nodes in the middle of a call, then whole again: calls until
                   one reaches 95 % of what the rails allow by then; 0 is the call in which they changed
  soak             a random fault of a random rail each second: throughput against what the surviving rails of the node
                   that has least left allow; a rail that is half-open between two nodes counts as surviving at both, who
                   reach the others over it
  flood            strangers who connect and say the wrong thing: throughput beside that without them

4 nodes, 1 + 1 Gbit/s (4 x 0.25 for three-of-four), one rank on each if not told otherwise, vectors of 16 MiB. Exit status:
1 when something failed; 2 for wrong arguments; 77 when this machine cannot run a lab."""


@dataclasses.dataclass(frozen=True)
class Programs:
    calls: str
    flood: str
    gloo: str
    aggregate: str
    component_dir: str

    @classmethod
    def of_build(cls, build):
        programs = os.path.join(build, "contrib", "programs")
        found = cls(os.path.join(programs, "nezha_fault_bench"), os.path.join(programs, "nezha_flood"),
                    os.path.join(programs, "nezha_gloo_bench"), os.path.join(build, "nezha-aggregate"),
                    os.path.join(build, "component"))
        for path in (found.calls, found.flood, found.aggregate):
            if not os.access(path, os.X_OK):
                raise BenchError(f"there is no program {path}: build first (contrib/build), or name the build by --build")
        return found


def build_parser():
    parser = argparse.ArgumentParser(prog="faults", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--cases", metavar="LIST", default=",".join(_CASES), help=f"of {', '.join(_CASES)}; default all")
    add("--ranks", type=positive, default=1, metavar="N", help="of Nezha's and Open MPI's jobs on each node; default 1")
    add("--rounds", type=positive, default=12, metavar="N", help="faults of each kind; default 12")
    add("--soak-seconds", type=more_than_0, default=60, metavar="S", help="default 60")
    add("--seed", type=int, default=1, metavar="N", help="of the soak's faults")
    add("--flood-rates", type=numbers, default="1000,10000", metavar="LIST", help="connections a second; default 1000,10000")
    add("--alone", action="store_true", help="without Open MPI and Gloo")
    add("--nezha-mca", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"), help="a parameter for Nezha's job")
    add("--log", type=files.replaceable, metavar="FILE", help="what Nezha's jobs wrote to standard error")
    add("--build", default=DEFAULT_BUILD, metavar="DIR", help="made by contrib/build")
    add("--json", type=files.replaceable, metavar="FILE", help="every round of every case")
    return parser


class Session:
    """One run of the command: options, programs, where its words go, and whether all files could be written."""

    def __init__(self, options):
        self.options, self.programs = options, Programs.of_build(os.path.abspath(options.build))
        self.log, self.written = "", True

    def say(self, text):
        print(f"faults: {text}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def nezha(self, lab, options=(), **keywords):
        """Its job, whose words are kept however it ends."""
        # Open MPI's own traffic has a network of its own here, fast and never broken, which would win.
        mca = [word for key, value in [("coll_nezha_learn", "0"), *self.options.nezha_mca] for word in ("--mca", key, value)]
        with CallJob(lab, self.programs.calls, _SIZE, [*mca, *options], incumbent_rails="mgmt", component_dir=self.programs.component_dir,
                     ppn=self.options.ranks, **keywords) as job:
            try:
                yield job
            finally:
                self._keep(job)

    def _keep(self, job):
        self.log += job.log()
        if self.options.log:
            self.written = files.write(self.options.log, self.log) and self.written

    def lost(self, found, verb, nodes_rails, rails):
        with Lab(nodes=4, rails=nodes_rails) as lab, Trigger(lab) as trigger:
            with self.nezha(lab) as job:
                job.settle(nezha=True)
                _gather(found, "rounds", rounds.many(lab, job, trigger, verb, rails, self.options.rounds, self.say))
            if not self.options.alone and len(rails) == 1:
                found["Open MPI"] = others.open_mpi(lab, self.programs, _SIZE, trigger, verb, self.options.ranks)
                if os.access(self.programs.gloo, os.X_OK):
                    found["Gloo"] = others.gloo(lab, self.programs, _SIZE, trigger, verb)

    def killed(self, found):
        case = PRESETS["aggregator"]
        with case.lab() as lab, key_file() as key, Aggregator(lab, case.nodes, self.programs.aggregate, key) as place, \
                self.nezha(lab, place.parameters(key, share=100), nodes=case.nodes) as job:
            _gather(found, "rounds", service.many(lab, case.nodes, job, place, self.options.rounds, self.say))

    @contextlib.contextmanager
    def steady(self):
        """(lab, job)"""
        with Lab(nodes=4, rails=["1gbit", "1gbit"]) as lab, self.nezha(lab) as job:
            job.settle(nezha=True)
            yield lab, job

    def measure(self, case, found):
        """Into the dict `found`, where what is complete stands also when an exception ends it."""
        options = self.options
        if case == "silent":
            self.lost(found, "silence", ["1gbit"] * 2, [1])
        elif case == "carrier":
            self.lost(found, "cut", ["1gbit"] * 2, [1])
        elif case == "three-of-four":
            self.lost(found, "silence", ["250mbit"] * 4, [1, 2, 3])
        elif case == "service":
            self.killed(found)
        else:
            with self.steady() as (lab, job):
                if case == "rate":
                    _gather(found, "rounds", rate.many(lab, job, _SIZE_BYTES, options.rounds, self.say))
                elif case == "soak":
                    found.update(soak.soak(lab, job, _SIZE_BYTES, options.soak_seconds, options.seed, self.say))
                else:
                    _gather(found, "rates", (flood.flood(lab, job, self.programs.flood, each, max(3, options.rounds // 2), self.say)
                                             for each in options.flood_rates))


def _gather(found, name, results):
    """One by one, since any may be the last that comes."""
    for result in results:
        found.setdefault(name, []).append(result)


def _one(session, case, whole):
    """A case into the document, and that to its file, as far as it came."""
    found = {}
    try:
        with awake.processors():
            session.measure(case, found)
    finally:
        if found:
            whole["cases"][case] = found
        if found and session.options.json:
            session.written = document.write(whole, session.options.json) and session.written


def run(options):
    cases = options.cases.split(",")
    for case in cases:
        if case not in _CASES:
            raise BenchUsage(f"case '{case}': {', '.join(_CASES)} are allowed")
    session, whole = Session(options), document.start()
    whole["cases"] = {}
    try:
        for case in cases:
            _one(session, case, whole)
    finally:  # what a failure, Ctrl-C or a signal has left
        for line in table.lines(whole["cases"]) if whole["cases"] else ():
            print(line)
    if not session.written:
        raise BenchError(UNWRITTEN)
    return 0


def main(arguments=None):
    options = build_parser().parse_args(arguments)
    leave_on_signals()
    return exit_status("faults", lambda: run(options), BenchError)
