# SPDX-License-Identifier: BSD-3-Clause
"""The command line of contrib/scale: measures, fits, extrapolates, prints."""

import argparse
import json
import os
import re
import subprocess
import sys
import time

from nezha_bench import files
from nezha_bench.arguments import numbers, positive
from nezha_bench.errors import UNWRITTEN
from nezha_bench.excerpt import excerpt
from nezha_lab import Lab, LabError
from nezha_lab.checkout import DEFAULT_BUILD
from nezha_lab.leaving import exit_status, leave_on_signals

from . import costs

_SECONDS = 240

_ABOUT = """\
Runs jobs of growing size on an emulated cluster, with Nezha and without, and tells what Nezha adds to a rank: lanes, memory,
processor time for wiring, and by how much the first call of a new communicator, which agrees, is longer than the second.
What grows with the lanes is fitted by straight lines and extrapolated. All ranks share this machine's cores, so times of the
wall clock are the machine's, not a cluster's. Exit status: 1 when something failed; 2 for wrong arguments; 77
when this machine cannot run a lab."""


def build_parser():
    parser = argparse.ArgumentParser(prog="scale", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ranks", type=numbers, default="8,16,32,64", metavar="LIST", help="default 8,16,32,64")
    add("--rails", type=numbers, default="1,2", metavar="LIST", help="default 1,2")
    add("--nodes", type=positive, default=8, metavar="N", help="that the ranks are spread over; default 8")
    add("--rounds", type=positive, default=3, metavar="N", help="of each; medians count; default 3")
    add("--to", type=numbers, default="256,1024,4096,16384", metavar="LIST", help="ranks to extrapolate to, one of each node")
    add("--build", default=DEFAULT_BUILD, metavar="DIR", help="made by contrib/build")
    add("--json", type=files.replaceable, metavar="FILE", help="every run")
    return parser


def slab():
    """KiB of the kernel's own objects, sockets among them, on the whole machine."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(r"^Slab: +(\d+) kB", file.read(), re.MULTILINE)[1])


class Probe:
    def __init__(self, build):
        self.program = os.path.join(build, "contrib", "programs", "nezha_scale_probe")
        self.component = os.path.join(build, "component")
        if not os.access(self.program, os.X_OK):
            raise LabError(f"there is no program {self.program}: build first (contrib/build), or name the build by --build")

    def run(self, lab, ranks, nezha):
        """One job, and the kernel's memory when it stood beside what it was before."""
        before, most = slab(), 0
        deadline = time.monotonic() + _SECONDS
        job = lab.popen([self.program], np=ranks, component_dir=self.component if nezha else None, nezha=nezha, text=True,
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            while job.poll() is None and time.monotonic() < deadline:
                most = max(most, slab())
                time.sleep(0.1)
        finally:
            job.end()
        output, errors = job.communicate()
        if job.returncode != 0:
            raise LabError(f"{ranks} ranks: status {job.returncode}: {excerpt(errors)}")
        found = json.loads(output.splitlines()[-1])
        if nezha and not found["carried"]:
            raise LabError(f"{ranks} ranks: Nezha did not take over: {excerpt(errors)}")
        return {**found, "slab_kib": most - before}


def measure(options, probe):
    for rails in options.rails:
        with Lab(nodes=options.nodes, rails=["none"] * rails) as lab:
            for ranks in options.ranks:
                for nezha in [False, True] * options.rounds:
                    print(f"scale: {ranks} ranks, {rails} rails, {'with' if nezha else 'without'} Nezha", file=sys.stderr, flush=True)
                    yield {**probe.run(lab, ranks, nezha), "rails": rails, "nezha": nezha}


def write(path, **whole):
    return files.write(path, json.dumps(whole, indent=1) + "\n")


def table(rows, columns):
    """Lines of a table: [(heading, key, format)...]."""
    cells = [[heading for heading, _, _ in columns]] + [[form.format(row[key]) for _, key, form in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in cells]


MEASURED = [("ranks", "ranks", "{}"), ("rails", "rails", "{}"), ("lanes", "lanes", "{}"), ("sockets", "sockets", "{:.0f}"), ("init ms", "init_ms", "{:+.0f}"),
            ("wiring ms", "wiring_ms", "{:.0f}"), ("its CPU ms", "wiring_cpu_ms", "{:.1f}"), ("wired KiB", "wired_kib", "{:.0f}"),
            ("worked KiB", "worked_kib", "{:.0f}"), ("agreement us", "agreement_us", "{:.0f}")]
LARGE = [("ranks", "ranks", "{}"), ("rails", "rails", "{}"), ("lanes", "lanes", "{}"), ("wired MiB", "wired_mib", "{:.1f}"),
         ("worked MiB", "worked_mib", "{:.0f}"), ("kernel MiB", "kernel_mib", "{:.0f}"), ("wiring CPU s", "wiring_cpu_s", "{:.2f}")]


def run(options):
    probe = Probe(os.path.abspath(options.build))
    runs = []
    for found in measure(options, probe):
        runs.append(found)
        if options.json:
            write(options.json, runs=runs)
    rows = costs.points(runs, options.nodes)
    lines = costs.functions(rows)
    print("What Nezha adds to a rank, measured:", *table(rows, MEASURED), sep="\n")
    print("\nPer lane, and beside that once: "
          + ", ".join(f"{name} {line.each:.3g} + {line.fixed:.3g}" for name, line in lines.items()))
    large = [costs.extrapolated(lines, ranks, rails) for rails in options.rails for ranks in options.to]
    print("\nExtrapolated, one rank a node:", *table(large, LARGE), sep="\n")
    if options.json and not write(options.json, runs=runs, measured=rows, extrapolated=large):
        raise LabError(UNWRITTEN)
    return 0


def main(arguments=None):
    options = build_parser().parse_args(arguments)
    leave_on_signals()
    return exit_status("scale", lambda: run(options))
