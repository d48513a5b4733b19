# SPDX-License-Identifier: BSD-3-Clause
"""The command line of contrib/rdma, and what it measures in which order."""

import argparse
import os
import sys

from nezha_bench import document, files
from nezha_bench.arguments import listed, positive
from nezha_bench.errors import UNWRITTEN, BenchError
from nezha_bench.rounds import complete
from nezha_bench.sizes import parse_sizes
from nezha_faults import rounds as fault_rounds
from nezha_faults.calls import CallJob
from nezha_faults.trigger import Trigger
from nezha_lab import Lab
from nezha_lab.checkout import DEFAULT_BUILD
from nezha_lab.leaving import exit_status, leave_on_signals

from . import figures
from .jobs import Jobs

TCP, ONE, TWO = "tcp/eth0", "verbs/eth1", "verbs/eth2"
_LARGE = 16 << 20
_FAULT_SIZE = "2M"
_SPREAD = 1.6  # between calls of a steady job, on processors that others need too

_ABOUT = """\
Measures verbs rails on an emulated cluster of 2 nodes whose rails are RDMA devices too (lab guest -- contrib/rdma ...):

  plain    one device: an allreduce of 1 to 16 MiB beside what a plain SEND program gets, one of 4 bytes beside a ping-pong
           of the same device, in turn within one job
  cpu      processor time of the whole machine per GiB, one verbs rail beside one TCP rail
  equal    two verbs rails shaped to the same rate, beside each alone
  uneven   the same shaped to 2:1
  mixed    a TCP and a verbs rail shaped to the same rate, beside each alone
  carrier, silence, down
           one of two shaped verbs rails lost at one node in the middle of a call, by its carrier, by silence, by ip link set
           down: time beyond what the other rail needs

All is slow where processors are emulated: only ratios count, and they within one boot. The algorithm is the ring, for 4 bytes doubling,
which is one step; nothing is learned. floor: what two measurements of the same differed by. Exit status: 1 when something failed, not when a figure is
missed; 77 where there are no RDMA devices for namespaces."""


def build_parser():
    parser = argparse.ArgumentParser(prog="rdma", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--cases", type=listed(CASES), metavar="LIST", default=",".join(CASES), help=f"of {', '.join(CASES)}; default all")
    add("--rounds", type=positive, default=3, metavar="N", help="measurements of each; default 3")
    add("--calls", type=positive, default=4, metavar="N", help="large calls in a measurement; default 4")
    add("--sizes", default="1M,4M,16M", metavar="LIST", help="of the case plain; default 1M,4M,16M")
    add("--rate", default="40mbit", help="of shaped rails; default 40mbit, which emulated processors can still serve")
    add("--nezha-mca", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"), help="a parameter for Nezha's jobs")
    add("--build", default=DEFAULT_BUILD, metavar="DIR", help="made by contrib/build")
    add("--json", type=files.replaceable, metavar="FILE", help="every measurement")
    add("--log", type=files.replaceable, metavar="FILE", help="what the jobs wrote to standard error")
    return parser


class Session:
    """One run of the command on one lab."""

    def __init__(self, options, lab):
        self.options, self.lab = options, lab
        self.jobs = Jobs(lab, os.path.abspath(options.build), options.nezha_mca)
        self.raw, self.rows, self._one = {}, [], None

    def say(self, text):
        print(f"rdma: {text}", file=sys.stderr, flush=True)

    def rate(self, *rates):
        for rail, rate in enumerate(rates):
            self.lab.rate(rail, rate)

    def one_device(self):
        """The rows of the job with a device; it is run once, for the cases that need it."""
        if self._one is None:
            self.rate("none", "none", "none")
            sizes, options = self.options.sizes, self.options
            small = self.jobs.bench(ONE, [4], 200, options.rounds, device="rxe1", coll_nezha_algorithm="doubling")
            self._one = small + self.jobs.bench(ONE, sizes, options.calls, options.rounds, device="rxe1")
            self.raw["plain"] = self._one
        return self._one

    def plain(self):
        rows = self.one_device()
        self.rows += [figures.beside_plain(size, rows) for size in dict.fromkeys(row["size"] for row in rows)]

    def processors(self):
        verbs, options = self.one_device(), self.options
        tcp = self.jobs.bench(TCP, options.sizes, options.calls, options.rounds)
        self.raw["cpu"] = tcp
        self.rows += [figures.processor_time(verbs, tcp), figures.processor_time(verbs, tcp, "send")]

    def together(self, case, first, second, rates):
        """Rounds of three jobs. What is complete stands also when an exception ends them."""
        self.rate(*rates)
        both = f"{first},{second}"

        def one(number):
            took = {rails: self.jobs.bench(rails, [_LARGE], self.options.calls, 1, warmup=1)[-1]["us"] for rails in (first, second, both)}
            self.say(f"{case} {number + 1} of {self.options.rounds}")
            return took

        rounds, ended = complete(one, self.options.rounds)
        took = {rails: [each[rails] for each in rounds] for rails in (first, second, both)}
        self.raw[case] = took
        self.rows.append(figures.together(case, _LARGE, {rails: took[rails] for rails in (first, second)}, took[both]))
        if ended:
            raise ended

    def fault(self, case, verb):
        """As together()."""
        options, found = self.options, []
        self.rate("none", options.rate, options.rate)
        with Trigger(self.lab) as trigger, CallJob(
                self.lab, self.jobs.calls, _FAULT_SIZE, self.jobs.options(f"{ONE},{TWO}"), spread=_SPREAD,
                incumbent_rails="mgmt", component_dir=self.jobs.component_dir) as job:
            try:
                for each in fault_rounds.many(self.lab, job, trigger, verb, [2], options.rounds, self.say, node=1):
                    found.append(each)
            finally:
                self.jobs.log += job.log()
                if found:
                    self.raw[case] = found
                    self.rows.append(figures.fault(case, found))


def _half(rate):
    from nezha_lab.spec import divided
    return divided(rate, 2)


CASES = {
    "plain": Session.plain,
    "cpu": Session.processors,
    "equal": lambda s: s.together("equal", ONE, TWO, ("none", s.options.rate, s.options.rate)),
    "uneven": lambda s: s.together("uneven", ONE, TWO, ("none", s.options.rate, _half(s.options.rate))),
    "mixed": lambda s: s.together("mixed", TCP, ONE, (s.options.rate, s.options.rate, "none")),
    "carrier": lambda s: s.fault("carrier", "cut"),
    "silence": lambda s: s.fault("silence", "silence"),
    "down": lambda s: s.fault("down", "down"),
}


def run(options):
    options.sizes = parse_sizes(options.sizes)
    whole, written = document.start(), True
    with Lab(nodes=2, rails=["none"] * 3, with_rdma=True) as lab:
        session = Session(options, lab)
        try:
            for case in options.cases:
                try:
                    CASES[case](session)
                finally:  # what a failure, Ctrl-C or a signal has left
                    whole["cases"] = session.raw
                    if options.json and session.raw:
                        written = document.write(whole, options.json) and written
        finally:
            if options.log:
                written = files.write(options.log, session.jobs.log) and written
            for line in figures.lines(session.rows) if session.rows else ():
                print(line)
    if not written:
        raise BenchError(UNWRITTEN)
    return 0


def main(arguments=None):
    options = build_parser().parse_args(arguments)
    leave_on_signals()
    return exit_status("rdma", lambda: run(options), BenchError)
