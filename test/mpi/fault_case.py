# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share that break rails under a running mpirun on the emulated cluster."""

import subprocess
import threading
import time
import unittest

from mpi_case import COMPONENT, program
from nezha_lab import Lab, LabUnavailable, openmpi

RAILS = 2
NODES = 3
BYTES = 2 << 20
_LONGEST = 120  # seconds that a job may take to say what a test waits for


def report_rows(output, whose):
    """{rail: columns} of the report's rows that are rank 0's ("rank 0"), or "least" or "most"."""
    found, rail = {}, None
    for words in map(str.split, output.splitlines()):
        if words[1:3] == ["rank", "0"] and "/" in words[0]:  # a log may have such words too
            rail = words[0]
        if rail and whose in (" ".join(words[1:3]), *words[:1]):
            found[rail] = words
    return found


class FaultCase(unittest.TestCase):
    nodes, rates, ppn = NODES, ["1gbit"] * RAILS, 1

    def setUp(self):
        self.lab = Lab(nodes=self.nodes, rails=self.rates)
        try:
            self.lab.up(ephemeral=True)
        except LabUnavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        self.addCleanup(self.lab.down)

    def start(self, *arguments, before=(), **params):
        params = {"coll_nezha_verbose": "1", **params}
        options = [word for name, value in params.items() for word in ("--mca", name, str(value))]
        job = self.lab.popen([*options, *before, *map(str, arguments)], np=self.nodes * self.ppn, ppn=self.ppn,
                             incumbent_rails="mgmt", component_dir=COMPONENT, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.end)
        return job

    def await_line(self, job, text, times=1):
        """Ends the job when it does not say so in time."""
        lines = []
        timer = threading.Timer(_LONGEST, job.end)
        timer.start()
        try:
            while times:
                line = job.stdout.readline()
                lines.append(line)
                self.assertTrue(line, f"it ended, or {_LONGEST} s passed, before it said '{text}':\n" + "".join(lines[-30:]))
                times -= text in line
        finally:
            timer.cancel()
        return lines

    def on_all_rails(self, fault, *where):
        """`fault`: of the lab, such as cut."""
        for rail in range(RAILS):
            fault(rail, *where)

    def survives(self, faults, seconds=4, size=BYTES, more=(), **params):
        """Runs while `faults` (seconds, function, arguments) happen; the output when it has passed. more: the program's
        further arguments."""
        job = self.start(program("survives"), seconds, size, *more, coll_nezha_algorithm="ring", **params)
        self.before = "".join(self.await_line(job, "rails carry"))
        start = time.monotonic()
        for when, fault, *arguments in faults:
            time.sleep(max(0.0, start + when - time.monotonic()))
            fault(*arguments)
        output = openmpi.output(job.communicate(timeout=90 + 2 * seconds)[0])
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])
        return output
