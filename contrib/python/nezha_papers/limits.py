# SPDX-License-Identifier: BSD-3-Clause
"""What the commands themselves take for the largest clusters that they are for: measured while the table is made."""

import dataclasses
import json
import os
import sys
import tempfile
import time

from nezha_command import simulator
from nezha_command.errors import CommandError
from nezha_command.terminal import Progress

from . import sauron
from .row import Row

PAPER = "limits"
LARGEST = {"nodes": 16384, "ranks_per_node": 8, "rails": [{"rate": "400gbit"} for _ in range(8)], "aggregators": {"kind": "switch"},
           "switch": {"kind": "fat_tree", "levels": [{"nodes": 32, "oversubscription": 2}, {"nodes": 1024}]}}
WORDS = ("--sizes", "4:1G", "--what-if", "rail-rail0", "--what-if", "ranks*0.125")
SIMULATED = {"nodes": 512, "accelerators": 8, "warm_up_us": 60, "measured_us": 200}
PATTERNS = {"C1": 20, "C5": 0}  # the least and the most that arrives at full load
_PLAN = "import sys; from nezha_command.cli import main; sys.exit(main(sys.argv[1:]))"
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclasses.dataclass(frozen=True)
class Most(Row):
    """theirs: what ours may be at most."""

    @property
    def holds(self):
        return self.ours <= self.theirs

    def error_text(self):
        return ""

    def within_text(self):
        return "at most"


def rows():
    seconds, mebibytes = _plan()
    what, test = f"nezha plan, {LARGEST['nodes']} nodes of {LARGEST['ranks_per_node']} ranks", "test_command_plan.test_16384_nodes"
    yield Most(PAPER, what, 10, seconds, "s", test=test)
    yield Most(PAPER, what, 1024, mebibytes, "MiB", test=test)


def of_build(build, everything):
    """(rows, remarks) of what a build simulates. CommandError where it fails."""
    if not everything:
        return [], ["--long adds how long nezha simulate takes for 512 nodes."]
    sauron.use(build)
    return [_simulated(name, percent) for name, percent in PATTERNS.items()], []


def _simulated(name, percent):
    started = time.monotonic()
    with Progress() as progress:
        simulator.run(SIMULATED, [percent], "100", 1, progress)
    return Most(PAPER, f"nezha simulate, 512 nodes x 8, 60 + 200 us, {name} at 100 %", 600, time.monotonic() - started, "s",
                test="test_command_simulate_large.test_512_nodes_at_full_load")


def _plan():
    """(seconds, MiB) of a process of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", prefix="nezha-", encoding="utf-8") as file:
        json.dump(LARGEST, file)
        file.flush()
        started = time.monotonic()
        child = os.posix_spawn(sys.executable, [sys.executable, "-c", _PLAN, "plan", file.name, *WORDS], {**os.environ, "PYTHONPATH": _PACKAGES},
                               file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status, usage = os.wait4(child, 0)
    if status:
        raise CommandError(f"nezha plan of {LARGEST['nodes']} nodes ended with status {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - started, usage.ru_maxrss / 1024
